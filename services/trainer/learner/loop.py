"""The training loop of one run, on rank 0.

  publish v ----policy record----> generators
     |
  evaluate v (every so often)
     |
  dispatch steps .. v+1+max_lag ---prompts---> workers ---groups---> inbox
     |                                                                 |
  fill step v+1, in waves and in prompt order  <-----------------------+
     |
  update -> rows -> commit (every k steps) -> acknowledge: only now may the queue forget

A slot opens only when the version that may fill it is out, so with `max_lag: 0` every sample is
on-policy by construction. Killed anywhere, the next learner starts at the last commit and finds
the same groups still pending.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from cohort.config import RunConfig
from cohort.contracts.queue import GroupMessage
from cohort.run_folder import RunFolder, append_rows
from services.trainer.learner import report
from services.trainer.learner.commits import Commits, State
from services.trainer.learner.evaluation import Asked, Evaluation
from services.trainer.learner.link import Link, RunFailed
from services.trainer.learner.plan import Plan
from services.trainer.learner.publisher import Publisher
from services.trainer.learner.team import Team
from services.trainer.learner.waves import Filled, Waves


class Loop:
    """Runs from `state` to the last step. Its parts are made by `learner.py`."""

    def __init__(
        self,
        config: RunConfig,
        folder: RunFolder,
        state: State,
        *,
        plan: Plan,
        link: Link,
        waves: Waves,
        evaluation: Evaluation,
        publisher: Publisher,
        commits: Commits,
        team: Team,
    ) -> None:
        self.config, self.folder, self.state = config, folder, state
        self.plan, self.link, self.waves = plan, link, waves
        self.evaluation, self.publisher = evaluation, publisher
        self.commits, self.team = commits, team
        self.uncommitted: list[str] = []
        self.committed_step = state.step
        self.started = time.monotonic() - state.seconds
        self.seconds: dict[str, float] = {}

    def run(self) -> None:
        """All remaining steps, then the last evaluation."""
        self._publish()
        self.publisher.settle(self.state.step)
        while self.state.step < self.config.steps:
            self._evaluate()
            self._dispatch_ahead()
            self._step(self.state.step + 1)
            self._commit()
            self._publish()
        self._evaluate()

    def _step(self, step: int) -> None:
        with self._clock("step"):
            with self._clock("rollout"):
                filled = self.waves.fill(step)
            with self._clock("train"):
                update = self.team.update([entry.group for entry in filled.trained])
        self.link.check_fence()  # the rows belong to whoever runs the run now
        self.state.step = step
        self.uncommitted += [entry.entry_id for entry in filled.entries]
        self._record(step, filled, update)

    def _record(self, step: int, filled: Filled, update: dict[str, float]) -> None:
        row = report.step_row(filled, update, self.seconds, step) | {"time": time.time()}
        self.state.num_completions += row["num_completions"]
        self.state.step_s += report.whole_step_s(self.seconds)
        self.seconds = {}
        judged = [e for e in filled.entries if e.fate in ("trained", "no_signal")]
        rows = [self.plan.row(entry.slot) for entry in judged]
        append_rows(self.folder.ledger, *report.ledger_rows(filled, self.link.fence))
        groups = [entry.group for entry in judged]
        append_rows(self.folder.completions, *report.completion_rows(groups, rows))
        append_rows(self.folder.metrics, row)
        self.folder.event("step", **row)

    def _commit(self) -> None:
        step, last = self.state.step, self.state.step == self.config.steps
        due = step - self.committed_step >= self.config.checkpoint.every
        if due or last:
            error = self.try_commit()
            if error is not None and last:
                raise RunFailed(f"the last checkpoint could not be written: {error}") from error

    def try_commit(self) -> OSError | None:
        """Commit. A disk that refuses is said and returned: the commit before stays, and so do
        the groups that came after it."""
        try:
            self.commit()
        except OSError as error:
            with suppress(OSError):  # the same disk
                self.folder.event(
                    "log",
                    message=f"Step {self.state.step} could not be committed ({error}); the commit "
                    f"of step {self.committed_step} stays.",
                )
            return error
        return None

    def commit(self) -> None:
        """Write a checkpoint; acknowledge its groups only when it is on disk.

        A request to pause does not keep it from being written: pausing commits.
        """
        with self._clock("commit"):
            self.link.check_fence()
            self.state.fence = self.link.fence
            self.state.seconds = self.elapsed_s()
            self.commits.write(self.state, self._save_policy)
            self.committed_step = self.state.step
            self.link.acknowledge(self.uncommitted, self.committed_step)
            self.uncommitted = []

    def _save_policy(self, folder: Path) -> None:
        self.team.save(folder)
        self.link.check_fence()  # that took a while

    def elapsed_s(self) -> float:
        """Seconds of the run so far, lost work left out."""
        return time.monotonic() - self.started

    def _publish(self) -> None:
        with self._clock("publish"):
            self.publisher.publish(self.state.step)
            self.state.fingerprints = self.publisher.known()

    def _dispatch_ahead(self) -> None:
        version = self.state.step
        newest = min(version + 1 + self.config.rollout.max_lag, self.config.steps)
        for step in range(version + 1, newest + 1):
            self.waves.first_wave(step)

    def _evaluate(self) -> None:
        evaluation, version = self.config.eval, self.state.step
        at_the_ends = version in (0, self.config.steps)
        due = at_the_ends or (evaluation.every and version % evaluation.every == 0)
        size = evaluation.final_size if at_the_ends else evaluation.size
        if not due or not size or str(version) in self.state.evals:
            return
        with self._clock("eval"):
            asked = self.evaluation.ask(version, size)
            groups = self.evaluation.collect(asked)
        self._record_evaluation(asked, groups)

    def _record_evaluation(self, asked: Asked, groups: list[GroupMessage]) -> None:
        answers = report.answers(groups)
        result: dict[str, Any] = {
            "version": asked.version,
            "accuracy": answers["accuracy"],
            "reward": answers["reward"],
            "num_questions": len(groups),
        }
        self.state.evals[str(asked.version)] = result
        append_rows(self.folder.completions, *report.completion_rows(groups, asked.rows))
        self.folder.event("eval", **result)

    @contextmanager
    def _clock(self, part: str) -> Iterator[None]:
        started = time.monotonic()
        try:
            yield
        finally:
            self.seconds[part] = self.seconds.get(part, 0.0) + time.monotonic() - started
