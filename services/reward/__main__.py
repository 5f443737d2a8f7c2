"""`python -m services.reward`: build the grader, serve it."""

import os

from cohort.clients import AsyncSandboxClient
from cohort.logs import configure
from cohort.processes import die_with_parent
from cohort.web import serve
from services.reward.app import create_app
from services.reward.config import Settings
from services.reward.grader import Grader
from services.reward.verifiers import build_verifiers


def main() -> None:
    """Run until told to stop."""
    settings = Settings.read()
    configure("reward", settings.log_level)
    if parent := os.environ.get("COHORT_PARENT_PID"):
        die_with_parent(int(parent))
    sandbox = AsyncSandboxClient(settings.sandbox_url, api_key=settings.api_key)
    verifiers = build_verifiers(
        sandbox,
        sandbox_concurrency=settings.sandbox_concurrency,
        puzzle_limit_s=settings.puzzle_limit_s,
    )
    grader = Grader(verifiers, max_pending_items=settings.max_pending_items)
    serve(create_app(grader, settings), settings, settings.port)


if __name__ == "__main__":
    main()
