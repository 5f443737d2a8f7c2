"""Verifiers from installed packages: the entry point group `cohort.verifiers`.

    [project.entry-points."cohort.verifiers"]
    palindrome = "my_package:palindrome"      # a function, or a subclass of Verifier

A function `score(completion, ground_truth, **kwargs) -> float | None` runs in a child process that
is killed when it is too slow; its other parameters become the kwargs of a request. A subclass of
`Verifier` is made without arguments and runs in the service. What cannot be loaded stays out of the
way of the others: the log has it, and /ready under `degraded`. No code ever comes from a request.
"""

from __future__ import annotations

import inspect
import json
import logging
import math
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Collection, Iterable, Sequence
from importlib.metadata import EntryPoint, entry_points
from typing import Any, ClassVar

import anyio
from anyio import to_thread
from pydantic import ConfigDict, create_model

from cohort.contracts.base import JsonValue
from services.reward.verifiers.base import Answer, Outcome, Params, Verifier
from services.reward.verifiers.reasoning_gym import PuzzleProcess

log = logging.getLogger("cohort.reward")
GROUP = "cohort.verifiers"
_GIVEN = ("completion", "ground_truth")
_CHILD = "from services.reward.verifiers.plugins import child; child()"
Function = Callable[..., float | None]


class PluginError(Exception):
    """A plug-in that cannot be used: one sentence that says what to change."""


def load_plugins(
    taken: Collection[str], *, limit_s: float = 5.0, found: Iterable[EntryPoint] | None = None
) -> list[Verifier[Any]]:
    """All plug-ins, in order of their names; `taken` are the names that they cannot have.

    One that cannot be used becomes a `BrokenPlugin`: its items are `infra_error`, and /ready says
    why under `degraded`. A name that is taken keeps its verifier.
    """
    used, made = set(taken), []
    for point in sorted(entry_points(group=GROUP) if found is None else found):
        name = point.name
        try:
            if name in used:
                raise PluginError(f"the name is taken: call it something else than {name}")
            verifier = _load(point, limit_s)
        except PluginError as error:
            if name in used:
                name = f"{name} ({point.value})"
            log.error("plug-in %s: %s", point.name, error)
            why = f"plug-in {point.name} ({point.value}): {error}"
            verifier = type("BrokenPlugin", (BrokenPlugin,), {"name": name, "why": why})()
        used.add(name)
        made.append(verifier)
    return made


class AnyParams(Params):
    """Any kwargs at all."""

    model_config = ConfigDict(extra="allow")


class BrokenPlugin(Verifier[AnyParams]):
    """Holds the name of a plug-in that could not be loaded, and the sentence that says why."""

    version = "0"
    description = "A plug-in that could not be loaded."
    deterministic = False
    params = AnyParams
    why: ClassVar[str]

    async def score(
        self, answers: Sequence[Answer], _: AnyParams, outcomes: list[Outcome | None]
    ) -> None:
        """Says why there is no score."""
        outcomes[:] = [Outcome.unscored("infra_error", self.why) for _ in answers]

    async def missing(self) -> list[str]:
        """The same sentence."""
        return [self.why]


class FunctionPlugin(Verifier[Params]):
    """A plain function in a child process: its number is the value, None is unscorable.

    What it raises is `infra_error`, as long as it does not run out of time, stack or memory: that
    is the doing of the text, so 0 with verdict `limit`.
    """

    def __init__(self, target: str, limit_s: float) -> None:
        self._child = PluginProcess(target, limit_s)
        self._turn = anyio.Lock()

    async def score(
        self, answers: Sequence[Answer], params: Params, outcomes: list[Outcome | None]
    ) -> None:
        """One answer after the other; what the deadline interrupts is killed."""
        kwargs = params.model_dump(mode="json")
        for place, answer in enumerate(answers):
            question = {name: getattr(answer, name) for name in _GIVEN}
            outcomes[place] = _outcome(await self._ask({**question, "kwargs": kwargs}))

    def cache_key(self, answer: Answer, _: Params) -> JsonValue:
        """What the function sees."""
        return [answer.completion, answer.ground_truth]

    async def aclose(self) -> None:
        """End the child process."""
        await to_thread.run_sync(self._child.close)

    async def _ask(self, question: dict[str, Any]) -> dict[str, Any]:
        given_up = threading.Event()
        async with self._turn:
            try:
                return await to_thread.run_sync(
                    self._child.ask, question, given_up, abandon_on_cancel=True
                )
            except anyio.get_cancelled_exc_class():
                self._child.give_up(given_up)
                raise


class PluginProcess(PuzzleProcess):
    """The child process that holds one function."""

    def __init__(self, target: str, limit_s: float) -> None:
        super().__init__(limit_s)
        self.target = target

    def _start(self) -> subprocess.Popen[bytes]:
        # Its own settings are its business, this service's secrets are not.
        environment = {k: v for k, v in os.environ.items() if not k.startswith("COHORT_")}
        environment["PYTHONPATH"] = os.pathsep.join(path for path in sys.path if path)
        return subprocess.Popen(
            [sys.executable, "-c", _CHILD, self.target, str(self.limit_s)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment,
        )


def child() -> None:
    """The child process: `{"completion", "ground_truth", "kwargs"}` in, a reply out, by lines."""
    questions, replies = os.fdopen(os.dup(0)), os.fdopen(os.dup(1), "w")
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    os.dup2(nothing, 1)  # what a function prints is not a reply
    function: Function = EntryPoint("function", sys.argv[1], GROUP).load()
    print(json.dumps({"ready": True}), file=replies, flush=True)
    for line in questions:
        # The service kills us when we are late; the alarm is for when the service is gone.
        signal.setitimer(signal.ITIMER_REAL, float(sys.argv[2]) + 1.0)
        reply = _reply(function, json.loads(line))
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        print(json.dumps(reply), file=replies, flush=True)


def _reply(function: Function, question: dict[str, Any]) -> dict[str, Any]:
    try:
        value = function(question["completion"], question["ground_truth"], **question["kwargs"])
        number = None if value is None else float(value)
    except (RecursionError, MemoryError):
        return {"limit": True}
    except (Exception, SystemExit) as error:
        return {"error": f"the plug-in raised {type(error).__name__}: {error}"[:300]}
    if number is None:
        return {"unscorable": True}
    if not math.isfinite(number):
        return {"error": "the plug-in's number is not finite"}
    return {"value": number}


def _outcome(reply: dict[str, Any]) -> Outcome:
    if "value" in reply:
        return Outcome(float(reply["value"]), verdict="judged")
    if "limit" in reply:
        return Outcome(0.0, verdict="limit")
    if "unscorable" in reply:
        return Outcome.unscored("unscorable", "the plug-in gave no score")
    why = str(reply.get("error", "the process of the plug-in does not start: see its package"))
    return Outcome.unscored("infra_error", why)


def _load(point: EntryPoint, limit_s: float) -> Verifier[Any]:
    try:
        target = point.load()
    except (Exception, SystemExit) as error:
        why = " ".join(f"{type(error).__name__}: {error}".split())[:200]
        raise PluginError(f"importing it raised {why}") from None
    if inspect.isclass(target) and issubclass(target, Verifier):
        return _made(target, point.name)
    if inspect.isfunction(target):
        return _wrapped(target, point, limit_s)
    raise PluginError("it is neither a subclass of Verifier nor a function")


def _made(target: type[Verifier[Any]], name: str) -> Verifier[Any]:
    for needed in ("name", "version", "description"):
        if not isinstance(getattr(target, needed, None), str):
            raise PluginError(f"its class attribute {needed} must be text")
    params = getattr(target, "params", None)
    if not (inspect.isclass(params) and issubclass(params, Params)):
        raise PluginError("its class attribute params must be a subclass of Params")
    if target.name != name:
        raise PluginError(f"its class attribute name is {target.name}: give both the same name")
    try:
        return target()
    except Exception as error:
        why = " ".join(f"{type(error).__name__}: {error}".split())[:200]
        raise PluginError(f"making it without arguments raised {why}") from None


def _wrapped(function: Function, point: EntryPoint, limit_s: float) -> Verifier[Any]:
    if inspect.iscoroutinefunction(function):
        raise PluginError("an async function cannot be timed: make it a subclass of Verifier")
    lines = (inspect.getdoc(function) or "").splitlines() or ["A plug-in's function."]
    made = type(
        "FunctionPlugin",
        (FunctionPlugin,),
        {
            "name": point.name,
            "version": point.dist.version if point.dist else "0",
            "description": lines[0],
            "deterministic": getattr(function, "deterministic", False) is True,
            "params": _params_of(function),
        },
    )
    verifier: Verifier[Any] = made(point.value, limit_s)
    return verifier


def _params_of(function: Function) -> type[Params]:
    """Kwargs from the signature: all but the first two parameters, closed unless it has `**`."""
    try:
        parameters = list(inspect.signature(function, eval_str=True).parameters.values())
    except Exception as error:
        raise PluginError(f"its signature cannot be read ({error})") from None
    if [one.name for one in parameters[:2]] != list(_GIVEN):
        raise PluginError("its first parameters must be completion and ground_truth")
    fields: dict[str, Any] = {}
    extra = "forbid"
    for one in parameters[2:]:
        if one.kind is one.VAR_KEYWORD:
            extra = "allow"
        elif one.kind not in (one.KEYWORD_ONLY, one.POSITIONAL_OR_KEYWORD):
            raise PluginError(f"its parameter {one.name} cannot be given by name")
        else:
            kind = JsonValue if one.annotation is one.empty else one.annotation
            fields[one.name] = (kind, ... if one.default is one.empty else one.default)
    base = type("FunctionParams", (Params,), {"model_config": ConfigDict(extra=extra)})  # type: ignore[typeddict-item]
    try:
        return create_model("FunctionParams", __base__=base, **fields)
    except Exception as error:
        raise PluginError(f"its parameters have no JSON form ({type(error).__name__})") from None
