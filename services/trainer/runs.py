"""The run registry. `run.json` in a run's folder is the truth; this is its image in memory.

A change is written before anyone hears of it. A disk that is full stops no run: the change holds in
memory and `flush` writes it later. Two threads may ask at once; only one thread changes runs.
"""

import logging
import os
import secrets
import threading
import time
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from cohort.config import RunConfig
from cohort.contracts.trainer import ENDED, RunState, RunView
from cohort.run_folder import RunFolder, sync_folder, write_json
from services.trainer.run_files import Progress, read_object

log = logging.getLogger("cohort.trainer")
ACTIVE: frozenset[RunState] = frozenset({"starting", "running"})


class UnknownRun(Exception):
    """There is no run of that id."""


class KeyReused(Exception):
    """The idempotency key belongs to a run with another config."""


class RunRecord(BaseModel):
    """What run.json holds."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    run_id: str
    name: str
    state: RunState
    reason: str | None = None
    created_at: float
    queued_at: float
    """Place in the line: when it was accepted, or resumed."""
    started_at: float | None = None
    ended_at: float | None = None
    steps: int
    restarts: int = 0
    algorithm: str
    task: str
    model: str
    idempotency_key: str | None = None
    wanted: Literal["cancel", "pause"] | None = None
    """What someone asked for and the learner has not done yet."""
    off_queue: bool = True
    """Redis does not name the run as active: never started, parked without a place, or deleted."""


class Registry:
    """All runs under `runs_dir`."""

    def __init__(self, runs_dir: Path) -> None:
        self.runs_dir = runs_dir
        self._lock = threading.RLock()
        self._records: dict[str, RunRecord] = {}
        self._progress: dict[str, Progress] = {}
        self._unsaved: set[str] = set()
        self.changed: set[str] = set()
        """Runs that changed since the mirror in Redis was last written."""

    def load(self) -> None:
        """Read every run.json; one that cannot be read is left alone and logged."""
        self.runs_dir.mkdir(parents=True, exist_ok=True)
        for path in self.runs_dir.glob("*/run.json"):
            try:
                record = RunRecord.model_validate(read_object(path))
            except ValidationError:
                log.warning("%s is damaged: this run is not listed", path)
                continue
            if record.run_id == path.parent.name:
                self._records[record.run_id] = record
        self.changed.update(self._records)

    def create(self, config: RunConfig, key: str | None = None) -> RunRecord:
        """A queued run, on disk when this returns; for a known key, the run that it made.

        Raises `KeyReused` when the key's run has another config.
        """
        with self._lock:
            known = self._of_key(key)
            if known is not None:
                if self.config(known.run_id) != config:
                    raise KeyReused(known.run_id)
                return known
            record = self._write_new(config, key)
            self._records[record.run_id] = record
            self.changed.add(record.run_id)
            return record

    def knows(self, key: str | None) -> bool:
        """Whether a run was started with this idempotency key."""
        with self._lock:
            return self._of_key(key) is not None

    def _of_key(self, key: str | None) -> RunRecord | None:
        if not key:
            return None
        return next((r for r in self._records.values() if r.idempotency_key == key), None)

    def _write_new(self, config: RunConfig, key: str | None) -> RunRecord:
        now = time.time()
        folder = self._new_folder(config.name, now)
        record = RunRecord(
            run_id=folder.run_id,
            name=config.name,
            state="queued",
            created_at=now,
            queued_at=now,
            steps=config.steps,
            algorithm=config.algorithm.name,
            task=config.task.name,
            model=config.model.path,
            idempotency_key=key,
        )
        with folder.config.open("w") as file:
            file.write(config.to_yaml())
            file.flush()
            os.fsync(file.fileno())
        folder.event("state", state="queued", reason=None)
        write_json(folder.record, record.model_dump())
        sync_folder(self.runs_dir)
        return record

    def _new_folder(self, name: str, now: float) -> RunFolder:
        """`<name>-<day>-<6 hex digits>`, never an existing one."""
        while True:
            day = time.strftime("%Y%m%d", time.gmtime(now))
            folder = RunFolder(self.runs_dir, f"{name}-{day}-{secrets.token_hex(3)}")
            try:
                folder.root.mkdir(parents=True)
            except FileExistsError:
                continue
            folder.create()
            return folder

    def get(self, run_id: str) -> RunRecord:
        """Raises `UnknownRun`."""
        try:
            return self._records[run_id]
        except KeyError:
            raise UnknownRun(run_id) from None

    def records(self) -> list[RunRecord]:
        """Newest first."""
        with self._lock:
            return sorted(self._records.values(), key=lambda r: r.created_at, reverse=True)

    def folder(self, run_id: str) -> RunFolder:
        """The files of a run. Raises `UnknownRun`."""
        return RunFolder(self.runs_dir, self.get(run_id).run_id)

    def config(self, run_id: str) -> RunConfig:
        """The config that the run was accepted with."""
        return RunConfig.from_yaml(self.folder(run_id).config.read_text())

    def update(self, run_id: str, **changes: Any) -> RunRecord:
        """Change a run; a new state is also an event."""
        with self._lock:
            before = self.get(run_id)
            record = before.model_copy(update=changes)
            try:
                if record.state != before.state:
                    state, reason = record.state, record.reason
                    self.folder(run_id).event("state", state=state, reason=reason)
                self._save(record)
            except OSError as error:
                self._unsaved.add(run_id)
                log.error("cannot write to the folder of run %s: %s", run_id, error)
            self._records[run_id] = record
            self.changed.add(run_id)
            return record

    def flush(self) -> None:
        """Write what a full disk kept from being written. Raises `OSError` when it still is."""
        with self._lock:
            for run_id in list(self._unsaved):
                self._save(self._records[run_id])

    def _save(self, record: RunRecord) -> None:
        write_json(RunFolder(self.runs_dir, record.run_id).record, record.model_dump())
        self._unsaved.discard(record.run_id)

    def take_changed(self) -> set[str]:
        """Runs that changed since the last call."""
        with self._lock:
            changed, self.changed = self.changed, set()
            return changed

    def progress(self, run_id: str) -> Progress:
        """What the run's files say now."""
        folder = self.folder(run_id)
        with self._lock:
            progress = self._progress.setdefault(run_id, Progress(folder.metrics, folder.events))
            progress.refresh()
            return progress

    def view(self, run_id: str) -> RunView:
        """The run as the API shows it. Raises `UnknownRun`."""
        record, progress = self.get(run_id), self.progress(run_id)
        last = progress.last_metrics
        step = last.get("step")
        shown = record.model_dump(exclude={"queued_at", "idempotency_key", "wanted", "off_queue"})
        return RunView(
            **shown,
            step=step if isinstance(step, int) else 0,
            metrics=last,
            eval=dict(progress.accuracy_by_version),
            waiting_for=progress.waiting_for if record.state in ACTIVE | {"queued"} else None,
            summary=read_object(self.folder(run_id).summary) if record.state in ENDED else None,
        )

    def count(self, state: RunState) -> int:
        """How many runs are in a state."""
        return sum(record.state == state for record in self.records())
