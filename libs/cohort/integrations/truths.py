"""Ground truths as other systems write them, turned into what this project's verifiers read."""

import json

from cohort.contracts.base import JsonValue


def code_cases(truth: JsonValue) -> JsonValue:
    """verl's `{"inputs": [...], "outputs": [...], "fn_name"?}` as the `code` verifier's cases.

    It may come as an object or as JSON text. With `fn_name` an input is its arguments: a list, or
    text with one JSON value a line. Anything else is given back as it is.
    """
    found = _object(truth)
    inputs, outputs = found.get("inputs"), found.get("outputs")
    if not isinstance(inputs, list) or not isinstance(outputs, list):
        return truth
    if len(inputs) != len(outputs) or found.get("assert_case"):
        return truth
    pairs = list(zip(inputs, outputs, strict=True))
    name = found.get("fn_name")
    if name is None:
        return {"cases": [{"stdin": _lines(i), "expected_stdout": _lines(o)} for i, o in pairs]}
    cases: list[JsonValue] = [{"args": _args(i), "expected": _value(o)} for i, o in pairs]
    return {"entry": name, "cases": cases}


def _object(truth: JsonValue) -> dict[str, JsonValue]:
    if isinstance(truth, str) and truth.lstrip().startswith("{"):
        truth = _value(truth)
    return truth if isinstance(truth, dict) else {}


def _value(text: JsonValue) -> JsonValue:
    """The JSON value that a text holds; the text itself when it holds none."""
    if not isinstance(text, str):
        return text
    try:
        value: JsonValue = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return value


def _args(given: JsonValue) -> list[JsonValue]:
    if isinstance(given, list):
        return given
    if isinstance(given, str):
        return [_value(line) for line in given.split("\n") if line.strip()]
    return [given]


def _lines(given: JsonValue) -> str:
    if isinstance(given, list):
        return "\n".join(str(line) for line in given)
    return str(given)
