"""Queue messages as bytes: bounded msgpack of the contract, and the few fields that scripts read.

An entry of a stream is `group`, `step`, `purpose`, `attempt` and `data`. The first four say whose
it is even when `data` cannot be read: a malformed entry still comes back as a typed failure.
"""

from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import msgpack
from pydantic import ValidationError

from cohort.contracts.base import Message
from cohort.contracts.queue import GroupMessage, PromptMessage

M = TypeVar("M", bound=Message)
Fields = dict[bytes, bytes]
MAX_BYTES = 64 * 1024 * 1024
_BIG_INT = 1


class Malformed(ValueError):
    """An entry that does not hold the message it should; one sentence says why."""


@dataclass(frozen=True)
class Delivered(Generic[M]):
    """A message and the stream entry that it came in, by which it is acknowledged."""

    entry_id: str
    message: M


def encode(message: Message) -> bytes:
    """Raises `Malformed` when the message is larger than `MAX_BYTES` or holds what bytes cannot."""
    try:
        data = msgpack.packb(message.model_dump(), default=_pack_other)
    except (ValueError, TypeError, OverflowError) as error:
        raise Malformed(f"the {type(message).__name__} cannot be encoded: {error}") from None
    if len(data) > MAX_BYTES:
        raise Malformed(
            f"the {type(message).__name__} has {len(data)} bytes, more than the {MAX_BYTES} allowed"
        )
    return bytes(data)


def decode(kind: type[M], data: bytes | None) -> M:
    """The message in `data`. Raises `Malformed`, whatever the bytes are."""
    if data is None:
        raise Malformed("the entry has no data")
    if len(data) > MAX_BYTES:
        raise Malformed(f"the entry has {len(data)} bytes, more than the {MAX_BYTES} allowed")
    try:
        return kind.model_validate(msgpack.unpackb(data, ext_hook=_unpack_other))
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(str(part) for part in first["loc"]) or "the message"
        raise Malformed(f"not a {kind.__name__}: {place}: {first['msg']}") from None
    except (ValueError, msgpack.UnpackException) as error:
        raise Malformed(f"not msgpack: {str(error) or type(error).__name__}") from None


def entry_fields(message: PromptMessage | GroupMessage) -> list[bytes | str]:
    """A stream entry's fields and values, flat, as XADD takes them."""
    return [
        *("group", message.group_id, "step", str(message.step), "purpose", message.purpose),
        *("attempt", str(message.attempt), "data", encode(message)),
    ]


def failed_instead(run_id: str, fields: Fields, reason: str) -> GroupMessage | None:
    """The typed failure that stands for an entry; None when not even its group is readable."""
    try:
        return GroupMessage.model_validate(
            {
                "run_id": run_id,
                "group_id": fields[b"group"].decode(),
                "step": int(fields[b"step"]),
                "purpose": fields[b"purpose"].decode(),
                "attempt": int(fields[b"attempt"]),
                "status": "failed",
                "reason": reason,
            }
        )
    except (KeyError, ValueError):
        return None


def _pack_other(value: Any) -> Any:
    if isinstance(value, int):  # beyond 64 bits: an exact answer may be that large
        return msgpack.ExtType(_BIG_INT, str(value).encode())
    raise TypeError(f"{type(value).__name__} does not travel")


def _unpack_other(code: int, data: bytes) -> Any:
    if code != _BIG_INT:
        raise ValueError(f"unknown extension type {code}")
    return int(data)
