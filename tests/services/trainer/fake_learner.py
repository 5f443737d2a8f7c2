"""A learner that learns nothing. The first word of its run's name says how it behaves."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

RUN_ID = sys.argv[sys.argv.index("--run-id") + 1]
RUN = Path(os.environ["COHORT_RUNS_DIR"]) / RUN_ID


def append(name: str, **row: object) -> None:
    with (RUN / name).open("a") as file:
        file.write(json.dumps(row) + "\n")


def event(kind: str, **data: object) -> None:
    append("events.jsonl", type=kind, time=time.time(), data=data)


def outcome(state: str, reason: str | None = None) -> None:
    (RUN / ".outcome").write_text(json.dumps({"state": state, "reason": reason}))
    (RUN / ".outcome").rename(RUN / "outcome.json")


def lives() -> int:
    """How often this run was started, this time included; a record of when, too."""
    append("lives.jsonl", pid=os.getpid(), begin=time.time())
    return len((RUN / "lives.jsonl").read_text().splitlines())


def commit(step: int) -> None:
    (RUN / "checkpoints" / f"step-{step:06d}").mkdir(exist_ok=True)


def ok() -> None:
    for step in (1, 2, 3):
        row = {"step": step, "reward": 0.25 * step, "loss": float("nan"), "kl": 0.0}
        completion = {"group_id": "g", "prompt": "2 + 2", "completion": "4", "score": 1.0}
        append("completions.jsonl", step=step, purpose="train", **completion)
        append("metrics.jsonl", **row)
        event("step", **row)
    append("completions.jsonl", step=3, purpose="eval", group_id="e", prompt="1 + 1")
    event("eval", version=3, accuracy=0.75, reward=0.75, num_questions=4)
    (RUN / "summary.json").write_text(json.dumps({"eval": {"before": 0.0, "after": 0.75}}))
    outcome("succeeded")


def fail() -> None:
    outcome("failed", "the model forgot how to add")


def crash() -> None:
    lives()
    sys.exit("RuntimeError: the sky fell")


def flaky() -> None:
    if lives() < 3:
        os.kill(os.getpid(), signal.SIGKILL)
    ok()


def plodding() -> None:
    """Dies often, but each life commits a step."""
    life = lives()
    commit(life)
    if life < 6:
        sys.exit(1)
    ok()


def obey() -> None:
    """Holds its lease and does what it is told; once resumed, it succeeds."""
    from cohort.processes import die_with_parent
    from cohort.rollouts.queue import RolloutQueue

    die_with_parent(int(os.environ["COHORT_PARENT_PID"]))
    queue = RolloutQueue.from_url(os.environ["COHORT_REDIS_URL"])
    resumed = lives() > 1
    queue.open_run(RUN_ID)
    queue.hold_learner(RUN_ID, queue.raise_fence(RUN_ID), 30.0)
    event("waiting", **{"for": "nothing in particular"})
    asked = None
    while not resumed and asked is None:
        asked = queue.control(RUN_ID)
        time.sleep(0.02)
    outcome({"cancel": "cancelled", "pause": "paused"}[asked] if asked else "succeeded")


def deaf() -> None:
    """Hears nothing, and has a child that hears nothing either."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(300)"])
    append("lives.jsonl", pid=os.getpid(), child=child.pid)
    event("log", message="up")
    time.sleep(300)


if __name__ == "__main__":
    (RUN / "environment.json").write_text(json.dumps(dict(os.environ)))
    globals()[RUN_ID.split("-")[0]]()
