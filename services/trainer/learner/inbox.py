"""Groups that came back, by id, until the loop takes them.

Groups of several steps and evaluations arrive in any order; the loop asks for ids in *its* order.
After a crash the inbox starts with everything that was delivered and not committed.
"""

from collections.abc import Sequence

from cohort.contracts.queue import GroupMessage
from cohort.rollouts.queue import Delivered
from services.trainer.learner.link import Link


class Inbox:
    """Holds delivered groups. `committed_step`: groups of that step or before are old news."""

    def __init__(self, link: Link, committed_step: int) -> None:
        self.link, self.committed_step = link, committed_step
        self._groups: dict[str, Delivered[GroupMessage]] = {}
        self._file(link.pending())

    def wait(self, group_ids: Sequence[str]) -> list[Delivered[GroupMessage]]:
        """Block until all of them are here; return them in the order asked, and forget them."""
        while not all(group_id in self._groups for group_id in group_ids):
            self._file(self.link.read())
        return [self._groups.pop(group_id) for group_id in group_ids]

    def _file(self, delivered: Sequence[Delivered[GroupMessage]]) -> None:
        stale = []
        for entry in delivered:
            group = entry.message
            if self._is_news(group):
                self._groups[group.group_id] = entry
            else:
                stale.append(entry.entry_id)
        self.link.acknowledge(stale)

    def _is_news(self, group: GroupMessage) -> bool:
        """An evaluation that an earlier learner asked for, or a committed group, is not."""
        if group.purpose == "eval":
            return group.group_id.startswith(eval_prefix(self.link.fence))
        return group.step > self.committed_step


def eval_prefix(fence: int) -> str:
    """Ids of evaluation groups carry the fence: each learner asks its own."""
    return f"eval-{fence}-"
