"""What `eval`, `score` and `rescore` share: which verifiers, which service, batches, the report."""

import argparse
import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

from cohort.cli.console import Failure, UsageError, add_url, api_key, service_url, temporary
from cohort.cli.view import number, share
from cohort.clients import RewardClient
from cohort.contracts.reward import RewardSpec, ScoreItem, ScoreResult

BATCH = 128
"""Items per request to the reward service, more when a group is larger."""
TIMEOUT_S = 600.0
_NAMED = re.compile(r"([\w.-]+)=(.*)", re.DOTALL)
_OF_ANSWERS = frozenset({"correct", "wrong", "no_answer", "ambiguous", "unparsable_answer"})
"""Verdicts that a right and a wrong answer can be told by."""

T = TypeVar("T")


def add_rewards(parser: argparse.ArgumentParser, default: str) -> None:
    """`--verifier`, `--reward`, `--kwargs` and `--url`, which `asked_rewards` reads."""
    parser.add_argument("--verifier", metavar="NAME", help=f"one verifier (default: {default})")
    parser.add_argument(
        "--reward",
        action="append",
        metavar="NAME=WEIGHT",
        help="one of several verifiers with its weight; give it once for each of them",
    )
    parser.add_argument(
        "--kwargs",
        action="append",
        metavar="[NAME=]JSON",
        help="parameters of the verifier, or of the one that is named",
    )
    add_url(parser, "reward")


def asked_rewards(args: argparse.Namespace) -> tuple[RewardSpec, ...]:
    """What the options ask for; empty when they name no verifier. Raises `UsageError`."""
    if args.verifier and args.reward:
        raise UsageError("give either --verifier or --reward, not both")
    weights = dict(map(_weighted, args.reward or ()))
    if len(weights) != len(args.reward or ()):
        raise UsageError("--reward names a verifier twice")
    if args.verifier:
        weights = {args.verifier: 1.0}
    kwargs = dict(_named_kwargs(text, list(weights)) for text in args.kwargs or ())
    return tuple(
        RewardSpec(verifier=name, weight=weight, kwargs=kwargs.get(name, {}))
        for name, weight in weights.items()
    )


def _weighted(text: str) -> tuple[str, float]:
    name, _, weight = text.partition("=")
    try:
        return name, float(weight or 1.0)
    except ValueError:
        raise UsageError(f"--reward {text!r} is not NAME=WEIGHT, for example format=0.1") from None


def _named_kwargs(text: str, names: list[str]) -> tuple[str, dict[str, Any]]:
    match = _NAMED.fullmatch(text)
    if match:
        name, text = match[1], match[2]
        if name not in names:
            raise UsageError(f"--kwargs are for {name}, which no --verifier or --reward names")
    elif len(names) != 1:
        raise UsageError("--kwargs must say whose they are: NAME=JSON, NAME as in --reward")
    else:
        name = names[0]
    return name, json_object(text, "--kwargs")


def json_object(text: str, option: str) -> dict[str, Any]:
    """The object that an option holds."""
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{option} is not JSON: {error}") from None
    if not isinstance(data, dict):
        raise UsageError(f"{option} must be a JSON object, for example '{{\"low\": 10}}'")
    return data


def needed(rewards: Iterable[RewardSpec]) -> set[str]:
    """The services that a verifier needs to work."""
    return {"reward"} | ({"sandbox"} if any(r.verifier == "code" for r in rewards) else set())


@contextmanager
def reward_service(args: argparse.Namespace, rewards: Sequence[RewardSpec]) -> Iterator[str]:
    """URL of the service that is meant, or of one that is started for the time of the block."""
    url = service_url(args, "reward", args.url)
    with RewardClient(url, api_key=api_key()) as client:
        reachable = client.health()
    if reachable:
        yield url
    elif args.url:
        raise Failure(f"no reward service answers at {args.url}")
    else:
        with temporary(args, needed(rewards)) as stack:
            yield stack.urls["reward"]


def score_all(
    url: str, items: Sequence[ScoreItem], rewards: Sequence[RewardSpec]
) -> list[ScoreResult]:
    """One result for each item, in order; all items of a group are in one request."""
    first: dict[str, int] = {}
    by_group = sorted(
        range(len(items)), key=lambda i: first.setdefault(items[i].group_id or f" {i}", i)
    )
    results: dict[int, ScoreResult] = {}
    with RewardClient(url, api_key=api_key(), timeout_s=TIMEOUT_S) as client:
        for places in batches(by_group, lambda i: items[i].group_id):
            found = client.score([items[i] for i in places], rewards, timeout_s=TIMEOUT_S)
            results.update(zip(places, found, strict=True))
    return [results[i] for i in range(len(items))]


def batches(things: Iterable[T], group_of: Callable[[T], str | None]) -> Iterator[list[T]]:
    """`BATCH` at a time; neighbours of one group stay together, for verifiers that compare."""
    batch: list[T] = []
    for thing in things:
        group = group_of(thing)
        joined = bool(batch) and group is not None and group_of(batch[-1]) == group
        if len(batch) >= BATCH and not joined:
            yield batch
            batch = []
        batch.append(thing)
    if batch:
        yield batch


def report_of(results: Sequence[ScoreResult]) -> dict[str, Any]:
    """Accuracy and mean score over what was scored; trouble is counted, never a 0."""
    scored = [result for result in results if result.score is not None]
    if not scored:
        raise Failure(f"nothing could be scored: {next((r.reason for r in results), None)}")
    words = Counter(result.verdict for result in scored)
    answers = any(words[word] for word in _OF_ANSWERS)
    return {
        "accuracy": words["correct"] / len(scored) if answers else None,
        "score": sum(result.score or 0.0 for result in scored) / len(scored),
        "components": _component_means(scored),
        "num_questions": len(results),
        "num_unscored": len(results) - len(scored),
        "statuses": dict(Counter(result.status for result in results)),
        "verdicts": dict(Counter(word_of(result) for result in results)),
    }


def _component_means(scored: Sequence[ScoreResult]) -> dict[str, float]:
    values: dict[str, list[float]] = {}
    for result in scored:
        for name, component in result.components.items():
            if component.value is not None:
                values.setdefault(name, []).append(component.value)
    return {name: sum(found) / len(found) for name, found in values.items()}


def word_of(result: ScoreResult) -> str:
    """The verdict; the status of what has none."""
    return result.verdict or result.status


def report_lines(report: dict[str, Any]) -> Iterator[str]:
    """The report for people."""
    first = f"accuracy {share(report['accuracy'])}, " if report["accuracy"] is not None else ""
    yield f"{first}mean score {number(report['score'])}"
    if len(report["components"]) > 1:
        means = (f"{name} {number(mean)}" for name, mean in report["components"].items())
        yield f"means: {', '.join(means)}"
    verdicts = ", ".join(f"{word} {count}" for word, count in report["verdicts"].items())
    yield f"{report['num_questions']} questions: {verdicts}"
    if report["num_unscored"]:
        bad = (f"{k} {n}" for k, n in report["statuses"].items() if k != "scored")
        yield f"left out of the means, since they could not be scored: {', '.join(bad)}"
