"""What every message is: frozen, closed to unknown fields, each field with its sentence."""

from typing import Any

from pydantic import BaseModel, ConfigDict, JsonValue

__all__ = ["ErrorBody", "ErrorDetail", "JsonValue", "Message"]


class Message(BaseModel):
    """Base of all wire contracts."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)


class ErrorDetail(Message):
    """What went wrong, for a program (`code`) and for a person (`message`)."""

    code: str
    """A stable word, for example `wrong_policy`."""
    message: str
    """One sentence: what, where, what to do."""
    details: dict[str, Any] = {}
    """Anything more that helps, for example the list of rejected fields."""


class ErrorBody(Message):
    """The body of every response whose status is 400 or above."""

    error: ErrorDetail
