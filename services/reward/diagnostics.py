"""What the recent outcomes of each verifier look like: signs of a reward that does not teach.

The hot path only appends plain numbers to a bounded window; all else is computed when asked. Items
of verifier `math` with different kwargs are one component here.
"""

import math
import os
from collections import Counter, defaultdict, deque
from collections.abc import Iterable, Sequence
from itertools import repeat
from typing import NamedTuple

from cohort.contracts.reward import ComponentDiagnostics, DiagnosticsResponse
from services.reward.plan import Job

_NO_GROUP = (hash(None), hash(""))


class Seen(NamedTuple):
    """What is remembered of an outcome: no text."""

    value: float | None
    status: str
    num_tokens: int | None
    num_characters: int
    group: int
    """Hash of the group's id, which may be None."""
    text: int
    """Hash of the completion."""
    cached: bool


class Diagnostics:
    """A sliding window of `window` outcomes for each verifier."""

    def __init__(self, window: int = 8_192) -> None:
        self.window = window
        self._seen: dict[str, deque[tuple[object, ...]]] = {}

    def record(self, job: Job, statuses: Sequence[str]) -> None:
        """Remember a job's outcomes and their statuses."""
        seen = self._seen.get(job.verifier.name)
        if seen is None:
            seen = self._seen[job.verifier.name] = deque(maxlen=self.window)
        completions = [answer.completion for answer in job.answers]
        seen.extend(
            zip(
                [None if outcome is None else outcome.value for outcome in job.outcomes],
                statuses,
                [answer.num_tokens for answer in job.answers],
                map(len, completions),
                [hash(answer.group_id) for answer in job.answers],
                map(hash, completions),
                [place in job.hits for place in range(len(completions))]
                if job.hits
                else repeat(False),
                strict=False,
            )
        )

    def report(self) -> DiagnosticsResponse:
        """Compute over what is remembered."""
        components = {
            name: _component([Seen._make(row) for row in rows])
            for name, rows in sorted(self._seen.items())
        }
        return DiagnosticsResponse(window=self.window, worker=os.getpid(), components=components)


def _component(seen: Sequence[Seen]) -> ComponentDiagnostics:
    scored = [one for one in seen if one.value is not None and math.isfinite(one.value)]
    values = [one.value or 0.0 for one in scored]
    in_tokens = all(one.num_tokens is not None for one in scored)
    lengths = [(one.num_tokens or 0) if in_tokens else one.num_characters for one in scored]
    groups = _groups(scored)
    flat = sum(len(set(group)) == 1 for group in groups)
    return ComponentDiagnostics(
        num_items=len(seen),
        mean=_mean(values) if values else None,
        std=math.sqrt(_mean(_squares(values))) if values else None,
        num_groups=len(groups),
        zero_variance_groups=flat / len(groups) if groups else None,
        length_correlation=correlation(values, lengths),
        length_unit="tokens" if in_tokens else "characters",
        duplicates=1 - len({one.text for one in seen}) / len(seen) if seen else 0.0,
        statuses={s: n / len(seen) for s, n in sorted(Counter(o.status for o in seen).items())},
        cache_hits=sum(one.cached for one in seen) / len(seen) if seen else 0.0,
    )


def _groups(scored: Iterable[Seen]) -> list[list[float]]:
    """Values of each group with at least two of them."""
    groups: dict[int, list[float]] = defaultdict(list)
    for one in scored:
        if one.group not in _NO_GROUP and one.value is not None:
            groups[one.group].append(one.value)
    return [values for values in groups.values() if len(values) > 1]


def correlation(xs: Sequence[float], ys: Sequence[float]) -> float | None:
    """Pearson's; None where one of them does not vary."""
    if len(xs) < 2:
        return None
    norm = math.sqrt(math.fsum(_squares(xs))) * math.sqrt(math.fsum(_squares(ys)))
    mean_x, mean_y = _mean(xs), _mean(ys)
    products = [(x - mean_x) * (y - mean_y) for x, y in zip(xs, ys, strict=True)]
    if norm == 0.0 or not math.isfinite(norm):
        return None
    return max(-1.0, min(1.0, math.fsum(products) / norm))


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)


def _squares(values: Sequence[float]) -> list[float]:
    """Squared distances from the mean."""
    mean = _mean(values)
    return [(value - mean) * (value - mean) for value in values]
