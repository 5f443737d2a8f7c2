"""Which API keys open a service, and where a request may carry one."""

import hmac
from collections.abc import Sequence

from starlette.requests import Request


def read_keys(setting: str | None) -> tuple[bytes, ...]:
    """The keys of a comma-separated list, and the list itself: services that share it send that."""
    keys = [key.strip() for key in (setting or "").split(",")]
    return tuple(key.encode() for key in dict.fromkeys([*keys, setting or ""]) if key)


def key_given(request: Request, keys: Sequence[bytes]) -> bool:
    """Constant-time check of the bearer header, the dashboard's cookie or a `/key/{key}/` path."""
    header = request.headers.get("authorization", "")
    scheme, _, given = header.partition(" ")
    candidates = [given if scheme.lower() == "bearer" else ""]
    candidates.append(request.cookies.get("cohort_key", ""))
    if request.url.path.startswith("/key/"):
        candidates.append(request.url.path.split("/")[2])
    given_keys = [candidate.encode() for candidate in candidates if candidate]
    # Not `any`: every pair is compared, however early one fits.
    return sum(hmac.compare_digest(one, key) for one in given_keys for key in keys) > 0
