"""`python -m services.generator`: build the engine, follow the policy, serve."""

import os

from cohort.logs import configure
from cohort.processes import die_with_parent
from cohort.rollouts.queue import RolloutQueue
from cohort.web import serve
from services.generator.alone import Alone
from services.generator.app import Background, create_app
from services.generator.config import Settings
from services.generator.engines.local import LocalEngine
from services.generator.follower import Follower
from services.generator.sampler import Sampler


def main() -> None:
    """Run until told to stop."""
    settings = Settings.read()
    configure("generator", settings.log_level)
    if parent := os.environ.get("COHORT_PARENT_PID"):
        die_with_parent(int(parent))
    engine = LocalEngine(
        max_rows=settings.max_rows,
        max_cache_tokens=settings.max_cache_tokens,
        compute_dtype=settings.compute_dtype,
    )
    sampler = Sampler(engine, max_waiting=settings.max_waiting, window_s=settings.window_s)
    sampler.start()
    serve(create_app(sampler, settings, _background(sampler, settings)), settings, settings.port)


def _background(sampler: Sampler, settings: Settings) -> Background:
    if settings.model is not None:
        return Alone(sampler, settings.model, settings.state_dir)
    return Follower(
        sampler,
        RolloutQueue.from_url(settings.redis_url),
        settings.runs_dir,
        generator_id=settings.generator_id,
        url=settings.url,
        run_id=settings.run_id,
        poll_s=settings.poll_s,
    )


if __name__ == "__main__":
    main()
