"""Held-out questions, asked of one policy version through the same queue, outside the ledger."""

from dataclasses import dataclass

from cohort.contracts.queue import GroupCompletion, GroupMessage
from cohort.tasks import TaskRow
from services.trainer.learner.inbox import Inbox, eval_prefix
from services.trainer.learner.link import Link, RunFailed
from services.trainer.learner.plan import Plan


@dataclass(frozen=True)
class Asked:
    """An evaluation under way: question i is `rows[i]`, its group `ids[i]`."""

    version: int
    rows: list[TaskRow]
    ids: list[str]


class Evaluation:
    """Asks and collects. The next publish waits for it, so the version cannot move meanwhile."""

    def __init__(self, plan: Plan, link: Link, inbox: Inbox) -> None:
        self.plan, self.link, self.inbox = plan, link, inbox

    def ask(self, version: int, size: int) -> Asked:
        """Dispatch the questions; does not wait."""
        rows = self.plan.eval_rows(size)
        asked = Asked(version, rows, [self._id(version, index, 0) for index in range(len(rows))])
        for row, group_id in zip(asked.rows, asked.ids, strict=True):
            self.link.dispatch(self.plan.eval_prompt(row, group_id, version, 0))
        return asked

    def collect(self, asked: Asked) -> list[GroupMessage]:
        """Wait for every answer; a failed group is asked again, a bounded number of times.

        So is one that another version answered.
        """
        answers: dict[int, GroupMessage] = {}
        open_ids = dict(enumerate(asked.ids))
        for attempt in range(1, self.plan.config.rollout.max_failures + 1):
            delivered = self.inbox.wait(list(open_ids.values()))
            self.link.acknowledge([entry.entry_id for entry in delivered])
            failed: dict[int, str | None] = {}
            for index, entry in zip(open_ids, delivered, strict=True):
                group = entry.message
                if group.status == "failed":
                    failed[index] = group.reason
                elif group.policy_version != asked.version:
                    failed[index] = f"version {group.policy_version} answered"
                else:
                    answers[index] = group
            if not failed:
                return [answers[index] for index in sorted(answers)]
            open_ids = {index: self._id(asked.version, index, attempt) for index in failed}
            for index, group_id in open_ids.items():
                row = asked.rows[index]
                self.link.dispatch(self.plan.eval_prompt(row, group_id, asked.version, attempt))
        reason = next(iter(failed.values()))
        raise RunFailed(f"the evaluation of version {asked.version} failed: {reason}")

    def _id(self, version: int, index: int, attempt: int) -> str:
        return f"{eval_prefix(self.link.fence)}{version:06d}-{index:05d}-{attempt:02d}"


def is_correct(completion: GroupCompletion) -> bool:
    """Correct by the verifier's verdict or, from a verifier that has none, by a full score."""
    result = completion.result
    if result is None or result.score is None:
        return False
    return result.verdict == "correct" if result.verdict is not None else result.score >= 1.0
