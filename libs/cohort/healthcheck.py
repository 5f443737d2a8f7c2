"""For container health checks: `python -m cohort.healthcheck URL` exits 0 when URL answers 2xx.

Sends COHORT_API_KEY when it is set; prints what a service that is not ready says it is missing.
"""

import os
import sys

import httpx


def main(url: str) -> int:
    """Ask once."""
    key = os.environ.get("COHORT_API_KEY")
    try:
        answer = httpx.get(
            url, timeout=4.0, headers={"Authorization": f"Bearer {key}"} if key else {}
        )
    except httpx.TransportError as error:
        sys.stderr.write(f"{url}: {error}\n")
        return 1
    if not answer.is_success:
        sys.stderr.write(f"{url}: {answer.status_code} {answer.text[:500]}\n")
    return 0 if answer.is_success else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
