"""Any data set of the reasoning-gym library: procedurally generated puzzles with their own scorers.

The ground truth is `{"dataset", "args", "entry"}`, from which the `reasoning_gym` verifier rebuilds
the scorer. Entries hold tuples and number-keyed dictionaries, which JSON does not know and scorers
compare by type; `to_json` and `from_json` carry them through.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, overload

from pydantic import Field

from cohort.contracts.base import JsonValue
from cohort.tasks.base import Context, Task, TaskArgs, TaskError, TaskRow, chat, digest

SYSTEM = "Think about the problem, then give the final answer between <answer> and </answer>."
_ATTEMPTS = 64


class ReasoningGymArgs(TaskArgs):
    """Which puzzles."""

    dataset: str
    """A name of reasoning-gym, for example `chain_sum`."""
    dataset_args: dict[str, JsonValue] = Field(default_factory=dict)
    """The data set's own settings, for example `{"min_terms": 2}`."""
    size: int = Field(default=10_000, ge=1, le=100_000_000)
    """Training rows; they are generated when they are drawn."""
    num_eval: int = Field(default=256, ge=0, le=4096)
    system: str | None = Field(default=SYSTEM, max_length=65536)
    """Asks for the answer tags that the verifier reads; null leaves it out."""


def build(args: ReasoningGymArgs, context: Context) -> Task:
    """The task: held-out puzzles come from a fixed seed, training puzzles from the run's."""
    held_out = _distinct(args, _dataset(args, 0, args.num_eval or 1))
    seen = {digest(_question(entry)) for entry in held_out}
    # Rows are made from seed + index: the two parts start far from each other.
    seed = 2**20 + int(digest(context.seed), 16) % 2**30
    train = TrainRows(args, _dataset(args, seed, args.size), seen)
    notes = []
    if len(held_out) < args.num_eval:
        notes.append(
            f"{args.dataset} made only {len(held_out)} different questions"
            f" where {args.num_eval} were to be held out"
        )
    train[0]  # A data set with too few questions says so now, not in the middle of a run.
    return Task(train=train, eval=[_row(args, entry) for entry in held_out], notes=notes)


class TrainRows(Sequence[TaskRow]):
    """Puzzles made on demand; one that happens to be held out is replaced by another."""

    def __init__(self, args: ReasoningGymArgs, dataset: Any, held_out: set[str]) -> None:
        self.args, self.dataset, self.held_out = args, dataset, held_out

    def __len__(self) -> int:
        return self.args.size

    @overload
    def __getitem__(self, index: int) -> TaskRow: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[TaskRow]: ...
    def __getitem__(self, index: int | slice) -> TaskRow | Sequence[TaskRow]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        if not -len(self) <= index < len(self):
            raise IndexError(f"row {index} of {len(self)}")
        index %= len(self)
        for attempt in range(_ATTEMPTS):
            entry = _entry(self.args, self.dataset, index + attempt * len(self))
            if digest(_question(entry)) not in self.held_out:
                return _row(self.args, entry)
        raise TaskError(
            f"reasoning_gym: {self.args.dataset} makes so few different questions that all of them"
            " are held out: lower num_eval or widen dataset_args"
        )


def to_json(value: Any) -> JsonValue:
    """A value as JSON from which `from_json` restores tuples and dictionaries with any keys."""
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, tuple):
        return {"__tuple__": [to_json(item) for item in value]}
    if isinstance(value, list | set | frozenset):
        return [to_json(item) for item in value]
    if isinstance(value, dict):
        if all(isinstance(key, str) for key in value):
            return {key: to_json(item) for key, item in value.items()}
        return {"__items__": [[to_json(key), to_json(item)] for key, item in value.items()]}
    if hasattr(value, "item"):  # a numpy number
        return to_json(value.item())
    return value if isinstance(value, int | float) else str(value)


def from_json(value: JsonValue) -> Any:
    """The inverse of `to_json`, up to sets, which come back as lists."""
    if isinstance(value, list):
        return [from_json(item) for item in value]
    if not isinstance(value, dict):
        return value
    match value:
        case {"__tuple__": list(items)} if len(value) == 1:
            return tuple(from_json(item) for item in items)
        case {"__items__": list(pairs)} if len(value) == 1:
            return {from_json(pair[0]): from_json(pair[1]) for pair in pairs}  # type: ignore[index]
    return {key: from_json(item) for key, item in value.items()}


def _dataset(args: ReasoningGymArgs, seed: int, size: int) -> Any:
    try:
        import reasoning_gym
        from reasoning_gym.factory import DATASETS
    except ImportError:
        raise TaskError(
            "reasoning_gym: the library is not installed: pip install reasoning-gym"
        ) from None
    if args.dataset not in DATASETS:
        raise TaskError(
            f"reasoning_gym: unknown dataset {args.dataset!r}; known: {', '.join(sorted(DATASETS))}"
        )
    try:
        settings = {**from_json(args.dataset_args), "seed": seed, "size": size}
        return reasoning_gym.create_dataset(args.dataset, **settings)
    except Exception as error:  # each data set checks its settings in its own way
        raise TaskError(
            f"reasoning_gym: dataset_args do not suit {args.dataset} ({error})"
        ) from None


def _entry(args: ReasoningGymArgs, dataset: Any, index: int) -> Any:
    try:
        return dataset[index]
    except Exception as error:  # generators fail in their own ways
        why = f"{type(error).__name__}: {error}"
        raise TaskError(f"reasoning_gym: {args.dataset} cannot make row {index} ({why})") from None


def _distinct(args: ReasoningGymArgs, dataset: Any) -> list[Any]:
    first: dict[str, Any] = {}
    for index in range(args.num_eval):
        entry = _entry(args, dataset, index)
        first.setdefault(digest(_question(entry)), entry)
    return list(first.values())


def _question(entry: Any) -> str:
    return str(entry["question"])


def _row(args: ReasoningGymArgs, entry: Any) -> TaskRow:
    question = _question(entry)
    truth: dict[str, JsonValue] = {
        "dataset": args.dataset,
        "args": args.dataset_args,
        "entry": to_json(dict(entry)),
    }
    name = f"reasoning_gym/{args.dataset}/{digest(question)}"
    return TaskRow(id=name, prompt=chat(question, args.system), ground_truth=truth)
