"""What every task is made of: rows, parts that never overlap, typed arguments."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Generic, TypeVar

from pydantic import BaseModel, ConfigDict

from cohort.contracts.base import JsonValue
from cohort.contracts.generator import ChatMessage
from cohort.contracts.queue import PromptInput


class TaskError(ValueError):
    """A task that cannot be made; the message is one sentence for whoever wrote the config."""


@dataclass(frozen=True, slots=True)
class TaskRow:
    """One question: what the policy sees, and what a verifier needs to judge its answer."""

    id: str
    prompt: PromptInput
    ground_truth: JsonValue


@dataclass(frozen=True)
class Task:
    """Questions to train on and held-out questions, with what a person should know about them.

    No question of `eval` is in `train`. Which questions are held out depends on the task's
    arguments alone, not on the seed: a model can be evaluated later on what no run has seen.
    """

    train: Sequence[TaskRow]
    eval: Sequence[TaskRow]
    notes: list[str] = field(default_factory=list)


class TaskArgs(BaseModel):
    """Base of a task's arguments: closed, frozen, described by the sentence under each field."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", allow_inf_nan=False, use_attribute_docstrings=True
    )


@dataclass(frozen=True)
class Context:
    """What a task is given besides its arguments."""

    seed: int
    data_root: Path
    """Files are read from here and nowhere else."""


A = TypeVar("A", bound=TaskArgs)


@dataclass(frozen=True)
class TaskKind(Generic[A]):
    """A registered task: its arguments and how it is built."""

    args: type[A]
    build: Callable[[A, Context], Task]


def chat(question: str, system: str | None = None) -> PromptInput:
    """A question as chat messages; the generator applies the model's chat template."""
    turns = [] if system is None else [ChatMessage(role="system", content=system)]
    return PromptInput(messages=(*turns, ChatMessage(role="user", content=question)))


def digest(value: JsonValue) -> str:
    """A stable 16-digit name of a JSON value: the same on every machine and in every process."""
    text = json.dumps(value, sort_keys=True, ensure_ascii=True)
    return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()
