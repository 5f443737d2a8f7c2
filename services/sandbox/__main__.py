"""Start the sandbox: `python -m services.sandbox`."""

import os

from cohort import logs, web
from cohort.processes import die_with_parent
from services.sandbox.app import create_app
from services.sandbox.config import Settings
from services.sandbox.runner import Sandbox


def main() -> None:
    """Serve until SIGTERM."""
    parent = os.environ.get("COHORT_PARENT_PID")
    if parent is not None:
        die_with_parent(int(parent))
    settings = Settings.read()
    logs.configure("sandbox", settings.log_level)
    web.serve(create_app(Sandbox(settings), settings), settings, settings.port)


if __name__ == "__main__":
    main()
