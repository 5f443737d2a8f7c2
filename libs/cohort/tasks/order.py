"""The order in which a run meets its questions: each once per epoch, shuffled, without a list.

An epoch's order is a keyed permutation of 0..size-1 (a Feistel network over the next power of four,
walked until it lands inside), so that any position is found in constant time and memory, a resumed
run continues exactly where it stopped, and a task of a billion questions costs nothing to shuffle.
"""

import hashlib

from cohort.tasks.base import Task, TaskError, TaskRow

_ROUNDS = 4


def permute(index: int, size: int, key: str) -> int:
    """Where `index` goes in the permutation of range(size) that `key` names."""
    if not 0 <= index < size:
        raise IndexError(f"{index} is not in range({size})")
    half_bits = max(1, ((size - 1).bit_length() + 1) // 2)
    mask = (1 << half_bits) - 1
    value = index
    while True:
        left, right = value >> half_bits, value & mask
        for number in range(_ROUNDS):
            left, right = right, left ^ (_mix(key, number, right) & mask)
        value = (left << half_bits) | right
        if value < size:
            return value


def draw(task: Task, seed: int, cursor: int) -> TaskRow:
    """The training row at position `cursor` (from 0) of the endless, per-epoch shuffled order."""
    size = len(task.train)
    if not size:
        raise TaskError("the task has no training rows: there is nothing to draw")
    epoch, offset = divmod(cursor, size)
    return task.train[permute(offset, size, f"{seed}/{epoch}")]


def _mix(key: str, number: int, value: int) -> int:
    text = f"{key}/{number}/{value}".encode()
    return int.from_bytes(hashlib.blake2b(text, digest_size=16).digest(), "little")
