"""Reads what a learner writes, while it writes: bounded, and never stopped by a damaged line.

Rows come back as JSON that every reader understands: NaN and infinities, which Python writes and
JSON forbids, become null.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

Row = dict[str, Any]
_LAST_ROW_BYTES = 1 << 20
_READ_BYTES = 1 << 20


def parse_row(line: bytes) -> Row | None:
    """A row, or None for a line that is not a JSON object."""
    try:
        row = json.loads(line, parse_constant=lambda _: None)
    except (ValueError, RecursionError):
        return None
    return row if isinstance(row, dict) else None


def read_object(path: Path) -> Row | None:
    """A JSON file's object; None when it is missing or damaged."""
    try:
        return parse_row(path.read_bytes())
    except OSError:
        return None


def iter_rows(path: Path) -> Iterator[Row]:
    """Complete rows, first to last."""
    try:
        file = path.open("rb")
    except FileNotFoundError:
        return
    with file:
        for line in file:
            row = parse_row(line) if line.endswith(b"\n") else None
            if row is not None:
                yield row


def last_row(path: Path) -> Row | None:
    """The last complete row."""
    try:
        with path.open("rb") as file:
            size = file.seek(0, 2)
            file.seek(max(0, size - _LAST_ROW_BYTES))
            lines = file.read().splitlines(keepends=True)
    except FileNotFoundError:
        return None
    complete = (parse_row(line) for line in reversed(lines) if line.endswith(b"\n"))
    return next((row for row in complete if row is not None), None)


def metric_rows(path: Path, since: int, limit: int) -> list[Row]:
    """The first `limit` rows whose step is above `since`."""
    found: list[Row] = []
    for row in iter_rows(path):
        if len(found) == limit:
            break
        if _step(row) > since:
            found.append(row)
    return found


def completion_rows(path: Path, step: int | None, purpose: str | None, limit: int) -> list[Row]:
    """The first `limit` rows of a step; of the newest step when `step` is None."""
    found: list[Row] = []
    newest = -1
    for row in iter_rows(path):
        if purpose is not None and row.get("purpose") != purpose:
            continue
        if step is None and _step(row) > newest:
            newest, found = _step(row), []
        if _step(row) == (newest if step is None else step) and len(found) < limit:
            found.append(row)
    return found


def _step(row: Row) -> int:
    step = row.get("step")
    return step if isinstance(step, int) else -1


class EventReader:
    """Follows events.jsonl from line `after` on. An event's id is its line number, from 1."""

    def __init__(self, path: Path, after: int = 0) -> None:
        self.path, self.after = path, after
        self._offset = self.line = 0

    def read(self) -> list[Row]:
        """The next events as `{id, type, time, data}`; empty when there is none yet."""
        try:
            with self.path.open("rb") as file:
                while True:
                    file.seek(self._offset)
                    lines = file.readlines(_READ_BYTES)
                    events = [event for line in lines if (event := self._take(line))]
                    if events or not lines or not lines[-1].endswith(b"\n"):
                        return events
        except FileNotFoundError:
            return []

    def _take(self, line: bytes) -> Row | None:
        if not line.endswith(b"\n"):
            return None
        self._offset += len(line)
        self.line += 1
        row = parse_row(line) if self.line > self.after else None
        if row is None or not isinstance(row.get("data"), dict):
            return None
        return {
            "id": self.line,
            "type": str(row.get("type", "log")),
            "time": float(row.get("time") or 0.0),
            "data": row["data"],
        }


class Progress:
    """What a run's files say of its progress; cheap to ask again while they do not change."""

    def __init__(self, metrics: Path, events: Path) -> None:
        self._metrics, self._stamp = metrics, (-1, -1)
        self._events = EventReader(events)
        self.last_metrics: Row = {}
        self.accuracy_by_version: dict[str, float] = {}
        self.waiting_for: str | None = None

    @property
    def num_events(self) -> int:
        """Id of the last event that was read."""
        return self._events.line

    def refresh(self) -> None:
        """Read what is new."""
        for event in iter(self._events.read, []):
            for item in event:
                self._notice(item["type"], item["data"])
        try:
            stat = self._metrics.stat()
        except FileNotFoundError:
            return
        stamp = (stat.st_size, stat.st_mtime_ns)
        if stamp != self._stamp:
            self._stamp, self.last_metrics = stamp, last_row(self._metrics) or {}

    def _notice(self, kind: str, data: Row) -> None:
        if kind == "waiting":
            what = data.get("for")
            self.waiting_for = str(what) if what else None
        accuracy = data.get("accuracy")
        if kind == "eval" and isinstance(accuracy, int | float):
            self.accuracy_by_version[str(data.get("version"))] = float(accuracy)
