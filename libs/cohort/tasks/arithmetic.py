"""Sums, differences, products and exact quotients of small integers, made on the fly.

Held-out questions are chosen by their *unordered* operands: if 23 + 41 is held out, neither 23 + 41
nor 41 + 23 is ever trained on. Training rows are the remaining ordered tuples, found by arithmetic
on their index, so that a range of a billion questions takes no memory.
"""

from __future__ import annotations

import math
import operator
import random
import sys
from bisect import bisect_right
from collections.abc import Callable, Sequence
from itertools import permutations
from typing import Literal, Self, overload

from pydantic import Field, field_validator, model_validator

from cohort.tasks.base import Context, Task, TaskArgs, TaskError, TaskRow, chat

Operands = tuple[int, ...]
SIGNS = {"add": "+", "subtract": "-", "multiply": "*", "divide": "/"}
APPLY: dict[str, Callable[[int, int], int]] = {
    "add": operator.add,
    "subtract": operator.sub,
    "multiply": operator.mul,
    "divide": operator.floordiv,
}


class ArithmeticArgs(TaskArgs):
    """Which questions are asked, and in which words."""

    operation: Literal["add", "subtract", "multiply", "divide"] = "add"
    """`divide` asks a * b / b, a and b from the range: every quotient is an integer of it."""
    low: int = Field(default=10, ge=-(10**12), le=10**12)
    high: int = Field(default=49, ge=-(10**12), le=10**12)
    """Both ends of the operands' range are included."""
    num_terms: int = Field(default=2, ge=2, le=5)
    show_steps: bool = False
    """Ask for worked steps and a last line `#### answer` instead of just the number. The ground
    truth is then a worked solution too, so that steps can be checked against its results."""
    prompt: str | None = Field(default=None, max_length=4096)
    """Other wording; `{question}` in it becomes, for example, 23 + 41."""
    system: str | None = Field(default=None, max_length=4096)
    num_eval: int = Field(default=256, ge=0, le=4096)
    """Held-out questions; at most half of the different operand sets."""

    @field_validator("prompt")
    @classmethod
    def _asks_the_question(cls, prompt: str | None) -> str | None:
        if prompt is not None and "{question}" not in prompt:
            raise ValueError("the wording must contain {question}")
        return prompt

    @model_validator(mode="after")
    def _range_makes_sense(self) -> Self:
        if self.low > self.high:
            raise ValueError(f"low ({self.low}) is above high ({self.high})")
        if (self.high - self.low + 1) ** self.num_terms > sys.maxsize:
            raise ValueError("low..high has too many questions for num_terms: narrow the range")
        if self.operation == "divide":
            if self.num_terms != 2:
                raise ValueError("num_terms must be 2 when operation is divide")
            if self.low <= 0 <= self.high:
                raise ValueError("the range low..high must not contain 0 when operation is divide")
        return self

    @property
    def wording(self) -> str:
        """The prompt with `{question}` in it."""
        if self.prompt is not None:
            return self.prompt
        if self.show_steps:
            return (
                "What is {question}? Work it out step by step,"
                " then end with a line of the form: #### answer"
            )
        return "What is {question}? Answer with just the number."


def build(args: ArithmeticArgs, _: Context) -> Task:
    """The task; the same arguments hold out the same questions under every seed."""
    width, terms = args.high - args.low + 1, args.num_terms
    num_sets = math.comb(width + terms - 1, terms)
    possible = num_sets // 2
    place = f"{args.low}..{args.high} with {terms} terms"
    if args.num_eval and not possible:
        raise TaskError(
            f"arithmetic: {place} has a single question, so none can be held out:"
            " widen low..high, or set num_eval to 0"
        )
    num_eval = min(args.num_eval, possible)
    notes = []
    if num_eval < args.num_eval:
        notes.append(
            f"{place} has only {num_sets} different sets of operands: {num_eval} of them are held"
            f" out instead of {args.num_eval}, so that half remain for training"
        )
    held_out = _hold_out(args, num_eval)
    excluded = {order for operands in held_out for order in permutations(operands)}
    train = TrainRows(args, sorted(_rank(operands, args) for operands in excluded))
    return Task(train=train, eval=[_row(operands, args) for operands in held_out], notes=notes)


class TrainRows(Sequence[TaskRow]):
    """Every ordered tuple of operands that is not excluded, in the order of their rank."""

    def __init__(self, args: ArithmeticArgs, excluded: Sequence[int]) -> None:
        self.args = args
        self.size: int = (args.high - args.low + 1) ** args.num_terms - len(excluded)
        # Before the t-th excluded rank lie `excluded[t] - t` rows that are kept.
        self.kept_before = [rank - t for t, rank in enumerate(excluded)]

    def __len__(self) -> int:
        return self.size

    @overload
    def __getitem__(self, index: int) -> TaskRow: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[TaskRow]: ...
    def __getitem__(self, index: int | slice) -> TaskRow | Sequence[TaskRow]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(self.size))]
        if not -self.size <= index < self.size:
            raise IndexError(f"row {index} of {self.size}")
        at = index % self.size
        return _row(_unrank(at + bisect_right(self.kept_before, at), self.args), self.args)


def _hold_out(args: ArithmeticArgs, num_eval: int) -> list[Operands]:
    """Distinct operand sets, each in the order in which it is asked."""
    width, terms = args.high - args.low + 1, args.num_terms
    source = random.Random(f"held out {args.operation} {args.low} {args.high} {terms}")
    chosen: dict[Operands, Operands] = {}
    while len(chosen) < num_eval:
        operands = _unrank(source.randrange(width**terms), args)
        chosen.setdefault(tuple(sorted(operands)), operands)
    return list(chosen.values())


def _rank(operands: Operands, args: ArithmeticArgs) -> int:
    rank = 0
    for operand in operands:
        rank = rank * (args.high - args.low + 1) + operand - args.low
    return rank


def _unrank(rank: int, args: ArithmeticArgs) -> Operands:
    operands = []
    for _ in range(args.num_terms):
        rank, digit = divmod(rank, args.high - args.low + 1)
        operands.append(digit + args.low)
    return tuple(reversed(operands))


def _row(operands: Operands, args: ArithmeticArgs) -> TaskRow:
    first, *rest = operands
    if args.operation == "divide":
        first *= rest[0]
    shown = [_term(term) for term in rest]
    question = f" {SIGNS[args.operation]} ".join([str(first), *shown])
    prompt = args.wording.replace("{question}", question)
    name = f"arithmetic/{args.operation}/{'_'.join(map(str, operands))}"
    lines = _solution(first, rest, args)
    truth = "\n".join(lines) if args.show_steps else lines[-1].removeprefix("#### ")
    return TaskRow(id=name, prompt=chat(prompt, args.system), ground_truth=truth)


def _solution(first: int, rest: Sequence[int], args: ArithmeticArgs) -> list[str]:
    """`1 + 2 = 3`, `3 + 4 = 7`, `#### 7`: one term after the other."""
    apply, sign, lines = APPLY[args.operation], SIGNS[args.operation], []
    result = first
    for term in rest:
        before, result = result, apply(result, term)
        lines.append(f"{before} {sign} {_term(term)} = {result}")
    return [*lines, f"#### {result}"]


def _term(number: int) -> str:
    return str(number) if number >= 0 else f"({number})"
