"""`python -m services.rollout`: work until SIGTERM; with `--check`, say if one works here."""

import os
import signal
import socket
import sys

import trio

from cohort import logs
from cohort.processes import die_with_parent
from cohort.rollouts.queue import QueueUnreachable, RolloutQueue
from services.rollout.config import Settings
from services.rollout.worker import Worker


def main() -> None:
    """Run until told to stop; an unexpected error ends the process with its traceback."""
    settings = Settings.read()
    if sys.argv[1:] == ["--check"]:
        sys.exit(check(settings))
    if parent := os.environ.get("COHORT_PARENT_PID"):
        die_with_parent(int(parent))
    logs.configure("rollout", settings.log_level)
    trio.run(work, settings)


async def work(settings: Settings) -> None:
    """Run a worker; SIGTERM and SIGINT stop it."""
    worker = Worker(settings)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(_stop_on_signal, worker)
        await worker.run()
        nursery.cancel_scope.cancel()


async def _stop_on_signal(worker: Worker) -> None:
    with trio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
        async for _ in signals:
            worker.stop()


def check(settings: Settings) -> str | None:
    """For a container's health check: what is wrong, None when a heartbeat is there."""
    named = "worker_id" in settings.model_fields_set
    start = settings.worker_id if named else f"{socket.gethostname()}-"
    queue = RolloutQueue.from_url(settings.redis_url)
    try:
        workers = queue.workers()
    except QueueUnreachable as error:
        return str(error)
    finally:
        queue.close()
    if any(worker.worker_id.startswith(start) for worker in workers):
        return None
    return f"no heartbeat of {start} in Redis"


if __name__ == "__main__":
    main()
