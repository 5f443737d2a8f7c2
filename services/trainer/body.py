"""Reads a run config from a request body: JSON or YAML, bounded, every mistake named."""

import json
import math
from collections.abc import Iterable
from contextlib import suppress
from typing import Any

import anyio.to_thread
from fastapi import Request

from cohort.config import ConfigError, RunConfig
from cohort.web import ApiError

YAML_TYPES = frozenset({"application/yaml", "text/yaml", "application/x-yaml", "text/x-yaml"})
MAX_CONFIG_BYTES = 2**18
_MAX_DEPTH = 64


async def read_config(request: Request) -> RunConfig:
    """Raises `ApiError` 413, 415 or 422."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json" and kind not in YAML_TYPES:
        raise ApiError(415, "unsupported_media_type", _which_type(kind))
    body = await request.body()
    if len(body) > MAX_CONFIG_BYTES:
        raise ApiError(413, "body_too_large", "A run config may have 256 kB at most.")
    try:
        return await anyio.to_thread.run_sync(_parse, body, kind in YAML_TYPES)
    except ConfigError as error:
        message = "; ".join(error.problems[:8])
        raise ApiError(422, "invalid_config", message, {"problems": error.problems}) from None


def _which_type(kind: str) -> str:
    given = f"The body came as {kind}" if kind else "The body came without a Content-Type"
    return (
        f"{given}, which says neither JSON nor YAML: send a run config with the header"
        " Content-Type: application/yaml (curl: -H 'Content-Type: application/yaml'"
        " --data-binary @config.yaml) or application/json."
    )


def _parse(body: bytes, is_yaml: bool) -> RunConfig:
    try:
        text = body.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ConfigError([f"the config is not UTF-8 text (byte {error.start})"]) from None
    try:
        config = _from_yaml(text) if is_yaml else _from_json(text)
        if not _is_finite(config.model_dump()):
            raise ConfigError(["the config has a number that is infinite or not a number"])
        return config
    except RecursionError:
        raise ConfigError(["the config is nested too deeply"]) from None


def _from_json(text: str) -> RunConfig:
    try:
        return RunConfig.from_dict(json.loads(text))
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}"
        raise ConfigError([f"the config does not parse at {place}: {error.msg}"]) from None


def _from_yaml(text: str) -> RunConfig:
    import yaml

    with suppress(yaml.YAMLError):  # from_yaml says where
        _refuse_bombs(yaml.scan(text))
    return RunConfig.from_yaml(text)


def _refuse_bombs(tokens: Iterable[Any]) -> None:
    """Small texts that take forever: aliases of aliases, and depth, which costs its square."""
    depth = 0
    for token in tokens:
        name = type(token).__name__
        if name == "AliasToken":
            raise ConfigError(["YAML aliases (*name) are not read: write the value out"])
        if name.startswith(("Block", "Flow")):
            depth += name.endswith("StartToken") - name.endswith("EndToken")
        if depth > _MAX_DEPTH:
            raise ConfigError(["the config is nested too deeply"])


def _is_finite(value: Any) -> bool:
    if isinstance(value, dict):
        return all(_is_finite(item) for item in value.values())
    if isinstance(value, list | tuple):
        return all(_is_finite(item) for item in value)
    return not isinstance(value, float) or math.isfinite(value)
