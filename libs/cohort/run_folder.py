"""What a run leaves on disk, and the only code that knows the file names.

runs/<id>/
  config.yaml         the resolved config            metrics.jsonl      one row per step
  run.json            the registry's record          completions.jsonl  samples and their scores
  outcome.json        how the learner ended          ledger.jsonl       every group's fate, once
  summary.json        the result, for people         events.jsonl       what happened, live
  checkpoints/step-<n>/   commits    weights/<version>/   published policies    model/   the result

JSON files are written aside, synced and renamed: a reader never sees half of one. Rows are appended
with one write each, so two processes can append to events.jsonl.
"""

import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

Row = dict[str, Any]


class RunFolder:
    """Paths and files of one run."""

    def __init__(self, runs_dir: Path, run_id: str) -> None:
        self.run_id = run_id
        self.root = runs_dir / run_id
        self.config = self.root / "config.yaml"
        self.record = self.root / "run.json"
        self.outcome = self.root / "outcome.json"
        self.summary = self.root / "summary.json"
        self.metrics = self.root / "metrics.jsonl"
        self.completions = self.root / "completions.jsonl"
        self.ledger = self.root / "ledger.jsonl"
        self.events = self.root / "events.jsonl"
        self.checkpoints = self.root / "checkpoints"
        self.weights = self.root / "weights"
        self.model = self.root / "model"

    def create(self) -> None:
        """Make the folder and its rooms."""
        for folder in (self.root, self.checkpoints, self.weights):
            folder.mkdir(parents=True, exist_ok=True)

    def event(self, kind: str, **data: Any) -> None:
        """Append to events.jsonl: kind is state, step, eval, waiting or log."""
        append_rows(self.events, {"type": kind, "time": time.time(), "data": data})


def write_json(path: Path, data: Any) -> None:
    """Replace a file as a whole, or not at all."""
    aside = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    with aside.open("w") as file:
        json.dump(data, file, indent=1)
        file.flush()
        os.fsync(file.fileno())
    aside.replace(path)
    sync_folder(path.parent)


def read_json(path: Path) -> Any:
    """The file's content; None when there is no such file."""
    try:
        return json.loads(path.read_text())
    except FileNotFoundError:
        return None


def append_rows(path: Path, *rows: Row) -> None:
    """Append rows to a JSON Lines file with a single write."""
    data = "".join(json.dumps(row) + "\n" for row in rows).encode()
    fd = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    try:
        while data:
            data = data[os.write(fd, data) :]
    finally:
        os.close(fd)


def read_rows(path: Path) -> Iterator[Row]:
    """Rows of a JSON Lines file; a last line that is still being written is left out."""
    if not path.exists():
        return
    with path.open("rb") as file:
        for line in file:
            if line.endswith(b"\n"):
                yield json.loads(line)


def file_size(path: Path) -> int:
    """Bytes, after syncing the file; 0 when it does not exist."""
    if not path.exists():
        return 0
    with path.open("rb") as file:
        os.fsync(file.fileno())
        return file.seek(0, os.SEEK_END)


def cut_back(path: Path, size: int) -> None:
    """Shorten a file to what it was at the last commit."""
    if path.exists():
        os.truncate(path, size)


def sync_folder(folder: Path) -> None:
    """Make renames inside the folder durable."""
    fd = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
