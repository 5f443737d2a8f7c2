"""Which prompt goes where: a pure function of the run config, so a resumed run repeats it exactly.

A slot is (step, wave, index, attempt). Its group id, task row and sampling seed follow from it
alone; there is no cursor to save. Wave 0 walks the task's seeded order; later waves (dynamic
sampling) walk a second order; a further attempt asks the same row again with another seed.
"""

import hashlib
from dataclasses import dataclass, replace

from cohort.config import RunConfig
from cohort.contracts.queue import PromptMessage, Purpose, Sampling
from cohort.tasks import Task, TaskRow, draw

_LATER_WAVES = 1 << 20  # added to the run's seed: the order that later waves walk


@dataclass(frozen=True, order=True)
class Slot:
    """A place in a step that one group fills."""

    step: int
    wave: int
    index: int
    attempt: int = 0

    @property
    def group_id(self) -> str:
        """The same slot always has the same id."""
        return f"{self.step:06d}-{self.wave:02d}-{self.index:04d}-{self.attempt:02d}"

    def again(self) -> "Slot":
        """The slot's next attempt."""
        return replace(self, attempt=self.attempt + 1)


class Plan:
    """Makes the prompt messages of a run."""

    def __init__(self, run_id: str, config: RunConfig, task: Task) -> None:
        self.run_id, self.config, self.task = run_id, config, task

    def row(self, slot: Slot) -> TaskRow:
        """The task row that the slot asks."""
        per_step = self.config.rollout.prompts_per_step
        seed, cursor = self.config.seed, (slot.step - 1) * per_step + slot.index
        if slot.wave:
            waves = self.config.rollout.dynamic_sampling.max_batches - 1
            seed += _LATER_WAVES
            cursor = ((slot.step - 1) * waves + slot.wave - 1) * per_step + slot.index
        return draw(self.task, seed, cursor)

    def oldest_version(self, step: int) -> int:
        """The oldest policy version that may sample for `step`."""
        return max(0, step - 1 - self.config.rollout.max_lag)

    def prompt(self, slot: Slot) -> PromptMessage:
        """The message that asks for the slot's group."""
        rollout = self.config.rollout
        sampling = Sampling(
            num_completions=self.config.algorithm.group_size,
            max_new_tokens=rollout.max_new_tokens,
            temperature=rollout.temperature,
            top_p=rollout.top_p,
            stop=rollout.stop,
            seed=self._seed(slot.group_id),
        )
        oldest = self.oldest_version(slot.step)
        row = self.row(slot)
        return self._message(row, slot.group_id, slot.step, "train", slot.attempt, sampling, oldest)

    def eval_rows(self, size: int) -> list[TaskRow]:
        """The first `size` held-out rows, fewer when the task has fewer."""
        return [self.task.eval[i] for i in range(min(size, len(self.task.eval)))]

    def eval_prompt(self, row: TaskRow, group_id: str, version: int, attempt: int) -> PromptMessage:
        """The message that asks one held-out question of one policy version."""
        rollout, evaluation = self.config.rollout, self.config.eval
        sampling = Sampling(
            num_completions=evaluation.num_completions,
            max_new_tokens=rollout.max_new_tokens,
            temperature=evaluation.temperature,
            stop=rollout.stop,
            seed=self._seed(f"eval/{row.id}"),
        )
        return self._message(row, group_id, version, "eval", attempt, sampling, version)

    def _message(
        self,
        row: TaskRow,
        group_id: str,
        step: int,
        purpose: Purpose,
        attempt: int,
        sampling: Sampling,
        oldest: int,
    ) -> PromptMessage:
        return PromptMessage(
            run_id=self.run_id,
            group_id=group_id,
            step=step,
            purpose=purpose,
            attempt=attempt,
            prompts=(row.prompt,),
            ground_truth=row.ground_truth,
            rewards=self.config.rewards,
            sampling=sampling,
            min_policy_version=oldest,
            timeout_s=self.config.rollout.timeout_s,
        )

    def _seed(self, what: str) -> int:
        digest = hashlib.sha256(f"{self.config.seed}/{what}".encode()).digest()
        return int.from_bytes(digest[:6], "big")
