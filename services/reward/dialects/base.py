"""What a dialect is, which verifier it uses, and the route that they all share."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeVar

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response
from pydantic import BaseModel, ConfigDict, ValidationError

from cohort.contracts.base import ErrorBody, JsonValue
from cohort.contracts.reward import RewardSpec, ScoreRequest, ScoreResult, ScoreStatus
from cohort.web import ApiError
from services.reward.grader import Overloaded, RequestError

MATH = (RewardSpec(verifier="math"),)
INFRA: Mapping[ScoreStatus, int] = {"infra_error": 503, "timeout": 503}
"""Trouble of ours: the trainer's client is to try again."""
ALL: Mapping[ScoreStatus, int] = {**INFRA, "unscorable": 503}
"""For systems that have no word for a ground truth that cannot be read."""
Options = Mapping[str, str]
"""The query parameters of a request."""


class Wire(BaseModel):
    """Base of other systems' bodies: frozen; fields that they add one day are ignored."""

    model_config = ConfigDict(frozen=True, extra="ignore", use_attribute_docstrings=True)


B = TypeVar("B", bound=Wire)


@dataclass(frozen=True, slots=True)
class Dialect(Generic[B]):
    """One route of another system: how its request is read and what it wants to hear."""

    path: str
    system: str
    body: type[B]
    ask: Callable[[B, Options], ScoreRequest]
    """Rewards that it names stay; else `choose_rewards` does."""
    answer: Callable[[B, Sequence[ScoreResult], Options], JsonValue]
    refuse: Mapping[ScoreStatus, int] = field(default_factory=lambda: INFRA)
    """HTTP status for a request of which one item ended so."""
    model: Callable[[B], str] = lambda _: ""
    """The model name in a body, which may choose the rewards."""


class Scorer(Protocol):
    """The grader, as far as dialects know it."""

    async def score(self, request: ScoreRequest) -> Sequence[ScoreResult]:
        """One result for each item, in order."""


class DialectSettings(Protocol):
    """The service's settings, as far as dialects know them."""

    @property
    def dialect_rewards(self) -> Mapping[str, Sequence[RewardSpec]]:
        """Rewards by model name, by route, or for all under `default`."""


def choose_rewards(
    path: str, model: str, options: Options, chosen: Mapping[str, Sequence[RewardSpec]]
) -> tuple[RewardSpec, ...]:
    """`?verifier=` and `?kwargs=`, else the setting for the model, the route, all; else math."""
    if "verifier" in options:
        try:
            kwargs = json.loads(options.get("kwargs", "{}"))
            return (RewardSpec(verifier=options["verifier"], kwargs=kwargs),)
        except (ValueError, RecursionError):
            raise RequestError("invalid_kwargs", "kwargs: must be a JSON object") from None
    if "kwargs" in options:
        raise RequestError("invalid_kwargs", "kwargs: they belong to a verifier: add ?verifier=")
    for key in (model, path, "default"):
        if key and key in chosen:
            return tuple(chosen[key])
    return MATH


def number(result: ScoreResult) -> float:
    """The score where there is one. Without, 0: all completions of a prompt share its ground truth,
    so a group whose ground truth cannot be read gets equal rewards, which teach nothing."""
    return result.score if result.score is not None else 0.0


def accuracy(result: ScoreResult) -> float:
    """What the first verifier said, within 0..1: shaping rewards do not blur it."""
    first = next(iter(result.components.values()), None)
    value = number(result) if first is None or first.value is None else first.value
    return min(1.0, max(0.0, value))


def unscorable(result: ScoreResult) -> float:
    """1 when the item has no score."""
    return float(result.score is None)


def add_dialect(
    app: FastAPI, dialect: Dialect[Any], grader: Scorer, settings: DialectSettings
) -> None:
    """Add one dialect's route, with and without the key in its path."""

    async def speak(body: Any, request: Request) -> Response:
        options = dict(request.query_params)
        reply = await _reply(dialect, body, options, grader, settings)
        return Response(reply, media_type="application/json")

    async def speak_with_key(key: str, body: Any, request: Request) -> Response:  # noqa: ARG001
        return await speak(body, request)  # the service's gate has checked the key

    for route, prefix in ((speak, ""), (speak_with_key, "/key/{key}")):
        route.__annotations__["body"] = dialect.body
        app.add_api_route(
            prefix + dialect.path,
            route,
            methods=["POST"],
            tags=["dialects"],
            summary=dialect.system,
            response_class=Response,
            responses={status: {"model": ErrorBody} for status in (422, 503)},
            include_in_schema=not prefix,
        )


async def _reply(
    dialect: Dialect[Any], body: Wire, options: Options, grader: Scorer, settings: DialectSettings
) -> str:
    try:
        asked = dialect.ask(body, options)
        if not asked.rewards:
            model = dialect.model(body)
            rewards = choose_rewards(dialect.path, model, options, settings.dialect_rewards)
            asked = asked.model_copy(update={"rewards": rewards})
        results = await grader.score(asked)
    except RequestError as error:
        raise ApiError(error.status, error.code, str(error)) from None
    except ValidationError as error:
        raise RequestValidationError(error.errors()) from None
    except Overloaded as error:  # not 429: verl repeats 5xx only
        raise ApiError(503, "overloaded", str(error), retry_after_s=1) from None
    for place, result in enumerate(results):
        _refuse(dialect, place, result)
    try:
        return json.dumps(dialect.answer(body, results, options), allow_nan=False)
    except (ValueError, RecursionError):
        why = "The request holds a number or a nesting that JSON cannot carry back."
        raise ApiError(422, "invalid_request", why) from None


def _refuse(dialect: Dialect[Any], place: int, result: ScoreResult) -> None:
    status = dialect.refuse.get(result.status)
    if status is not None:
        why = f"item {place} was not scored ({result.status}): {result.reason or 'no reason given'}"
        wait_s = None if result.status == "unscorable" else 1
        raise ApiError(status, result.status, why, retry_after_s=wait_s)
