"""`python -m services.reward`: build the grader, serve it."""

import multiprocessing
import os

from fastapi import FastAPI

from cohort.clients import AsyncSandboxClient
from cohort.logs import configure
from cohort.processes import die_with_parent
from cohort.web import serve
from services.reward.app import create_app
from services.reward.cache import make_cache
from services.reward.config import Settings
from services.reward.grader import Grader
from services.reward.verifiers import build_verifiers
from services.reward.verifiers.models import model_verifiers
from services.reward.verifiers.plugins import load_plugins


def build_app() -> FastAPI:
    """The app as the environment describes it; every worker process calls this."""
    settings = Settings.read()
    configure("reward", settings.log_level)
    if master := multiprocessing.parent_process():
        die_with_parent(master.pid)
    sandbox = AsyncSandboxClient(settings.sandbox_url, api_key=settings.api_key)
    verifiers = build_verifiers(
        sandbox,
        sandbox_concurrency=settings.sandbox_concurrency,
        puzzle_limit_s=settings.puzzle_limit_s,
    )
    verifiers |= {verifier.name: verifier for verifier in model_verifiers(settings)}
    plugins = load_plugins(verifiers, limit_s=settings.plugin_limit_s)
    verifiers |= {verifier.name: verifier for verifier in plugins}
    grader = Grader(verifiers, settings.max_pending_items, settings.max_items, make_cache(settings))
    return create_app(grader, settings)


def main() -> None:
    """Run until told to stop."""
    settings = Settings.read()
    configure("reward", settings.log_level)
    if parent := os.environ.get("COHORT_PARENT_PID"):
        die_with_parent(int(parent))
    serve("services.reward.__main__:build_app", settings, settings.port, settings.workers)


if __name__ == "__main__":
    main()
