"""Fills a step with groups, in waves and in prompt order, never in arrival order.

Taking whatever arrives first would favour short completions and no run would repeat. So a wave is
waited for as a whole, its groups are judged in slot order, and only then, with dynamic sampling
on, the next wave asks for as many as lacked signal.

  slot -> group ok, sampled by a version of this history -> kept, or `no_signal` (frees its slot)
       -> failed, or sampled by a lost version           -> recorded, the slot's next attempt
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal

from cohort.contracts.queue import GroupMessage
from cohort.rollouts.queue import Delivered
from services.trainer.learner.inbox import Inbox
from services.trainer.learner.link import Link, RunFailed
from services.trainer.learner.plan import Plan, Slot

Fate = Literal["trained", "no_signal", "dropped", "failed"]


@dataclass(frozen=True)
class Entry:
    """One group's fate, as the ledger records it."""

    slot: Slot
    entry_id: str
    group: GroupMessage
    fate: Fate
    reason: str | None = None


@dataclass
class Filled:
    """What a step got: `entries` in slot order, every attempt among them."""

    entries: list[Entry] = field(default_factory=list)
    waves: int = 0

    @property
    def trained(self) -> list[Entry]:
        """The groups that the step trains on, in prompt order."""
        return [entry for entry in self.entries if entry.fate == "trained"]

    def count(self, fate: Fate) -> int:
        """How many groups met this fate."""
        return sum(entry.fate == fate for entry in self.entries)


class Waves:
    """Dispatches and collects the groups of a step."""

    def __init__(
        self,
        plan: Plan,
        link: Link,
        inbox: Inbox,
        has_signal: Callable[[Sequence[float | None]], bool],
        fingerprint_of: Callable[[int], str | None],
    ) -> None:
        self.plan, self.link, self.inbox = plan, link, inbox
        self.has_signal, self.fingerprint_of = has_signal, fingerprint_of
        self.failures_in_a_row = 0

    def first_wave(self, step: int) -> list[Slot]:
        """Ask for the step's first wave (asking again changes nothing)."""
        return self._ask(step, 0, self.plan.config.rollout.prompts_per_step)

    def fill(self, step: int) -> Filled:
        """Wait for the step's groups. Raises `RunFailed` after too many failures in a row."""
        dynamic = self.plan.config.rollout.dynamic_sampling
        filled, slots = Filled(), self.first_wave(step)
        while True:
            entries = [entry for slot in self._settle(slots) for entry in slot]
            filled.entries += entries
            filled.waves += 1
            missing = sum(entry.fate == "no_signal" for entry in entries)
            if not missing or filled.waves == dynamic.max_batches:
                return filled
            slots = self._ask(step, filled.waves, missing)

    def _ask(self, step: int, wave: int, num_slots: int) -> list[Slot]:
        slots = [Slot(step, wave, index) for index in range(num_slots)]
        for slot in slots:
            self.link.dispatch(self.plan.prompt(slot))
        return slots

    def _settle(self, slots: list[Slot]) -> list[list[Entry]]:
        """Every attempt of every slot, until each has a group that can be judged."""
        fates: dict[int, list[Entry]] = {slot.index: [] for slot in slots}
        while slots:
            delivered = self.inbox.wait([slot.group_id for slot in slots])
            judged = [self._judge(s, d) for s, d in zip(slots, delivered, strict=True)]
            slots = []
            for entry in judged:
                fates[entry.slot.index].append(entry)
                if entry.fate in ("failed", "dropped"):
                    slots.append(self._ask_again(entry))
        return list(fates.values())

    def _ask_again(self, entry: Entry) -> Slot:
        slot = entry.slot.again()
        if slot.attempt > 2 * self.plan.config.rollout.max_failures:
            raise RunFailed(f"no usable group after {slot.attempt} attempts: {entry.reason}")
        self.link.dispatch(self.plan.prompt(slot))
        return slot

    def _judge(self, slot: Slot, delivered: Delivered[GroupMessage]) -> Entry:
        group = delivered.message
        if group.status == "failed":
            self.failures_in_a_row += 1
            if self.failures_in_a_row >= self.plan.config.rollout.max_failures:
                raise RunFailed(
                    f"{self.failures_in_a_row} groups in a row failed, the last one: {group.reason}"
                )
            return Entry(slot, delivered.entry_id, group, "failed", group.reason)
        self.failures_in_a_row = 0
        unusable = self._unusable(slot, group)
        if unusable:
            return Entry(slot, delivered.entry_id, group, "dropped", unusable)
        fate: Fate = "trained"
        if self.plan.config.rollout.dynamic_sampling.enabled and not self.has_signal(scores(group)):
            fate = "no_signal"
        return Entry(slot, delivered.entry_id, group, fate)

    def _unusable(self, slot: Slot, group: GroupMessage) -> str | None:
        """Why a group must not be trained on: it is stale, or of weights that a crash undid."""
        version, newest = group.policy_version, slot.step - 1
        if version < self.plan.oldest_version(slot.step):
            return f"stale: version {version} is more than max_lag behind {newest}"
        if version > newest or self.fingerprint_of(version) != group.fingerprint:
            return f"lost version: {version} was published again with other weights"
        return None


def scores(group: GroupMessage) -> list[float | None]:
    """The rewards of a group; None where the reward service could not score."""
    return [c.result.score if c.result else None for c in group.completions]
