"""A learner without torch for tests of everything around it: `python fake_learner.py --run-id ID`.

Takes the run config's steps as told, writes what a real learner writes, obeys pause and cancel, and
fails when the run's name says so.
"""

import os
import sys
import time
from pathlib import Path

from cohort.config import RunConfig
from cohort.rollouts.queue import RolloutQueue
from cohort.run_folder import RunFolder, append_rows, read_rows, write_json


def main() -> None:
    run_id = sys.argv[sys.argv.index("--run-id") + 1]
    folder = RunFolder(Path(os.environ["COHORT_RUNS_DIR"]), run_id)
    config = RunConfig.from_yaml(folder.config.read_text())
    queue = RolloutQueue.from_url(os.environ["COHORT_REDIS_URL"])
    done = sum(1 for _ in read_rows(folder.metrics))
    if done == 0:
        evaluate(folder, 0, 0.25)
    for step in range(done + 1, config.steps + 1):
        time.sleep(0.1 if config.name == "slow" else 0.0)
        if wish := queue.control(run_id):
            leave(folder, "paused" if wish == "pause" else "cancelled")
            return
        row = {"step": step, "reward": 0.5, "accuracy": 0.5, "zero_signal": 0.125}
        row |= {"tokens_per_s": 123.4, "seconds": {"step": 1.5}}
        append_rows(folder.metrics, row)
        folder.event("step", **row)
    if config.name == "bad":
        leave(folder, "failed", "the loss is not a number at step 3")
        return
    evaluate(folder, config.steps, 0.75)
    folder.model.mkdir(exist_ok=True)
    summary = {"eval": {"before": 0.25, "after": 0.75, "num_questions": 4}, "steps": config.steps}
    write_json(folder.summary, summary | {"seconds": 1.0, "model": str(folder.model)})
    leave(folder, "succeeded")


def evaluate(folder: RunFolder, version: int, accuracy: float) -> None:
    row = {"step": version, "purpose": "eval", "prompt": "What is 3 + 4?", "verdict": "correct"}
    append_rows(folder.completions, row | {"completion": f"seven by {version}", "score": 1.0})
    folder.event("eval", version=version, accuracy=accuracy, num_questions=4)


def leave(folder: RunFolder, state: str, reason: str | None = None) -> None:
    write_json(folder.outcome, {"state": state, "reason": reason})


if __name__ == "__main__":
    main()
