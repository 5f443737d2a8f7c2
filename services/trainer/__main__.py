"""Starts the trainer: `python -m services.trainer`."""

import os

from cohort import logs
from cohort.processes import die_with_parent
from cohort.web import serve
from services.trainer.app import create_app
from services.trainer.config import Settings
from services.trainer.worker import Trainer


def main() -> None:
    """Serve until SIGTERM."""
    settings = Settings.read()
    if parent := os.environ.get("COHORT_PARENT_PID"):
        die_with_parent(int(parent))
    logs.configure("trainer", settings.log_level)
    serve(create_app(Trainer.build(settings), settings), settings, settings.port)


if __name__ == "__main__":
    main()
