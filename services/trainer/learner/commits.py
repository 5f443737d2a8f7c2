"""Commits: what a crash falls back to. Written aside, renamed; only then is the queue acknowledged.

checkpoints/step-000010/
  policy/      model, optimizer, schedule and RNG of every rank
  state.json   the step, the size of every JSON Lines file, the evaluations so far
A commit that cannot be written (disk full) leaves the one before it untouched. Committing a step
again replaces its state.json alone: the policy is the same, and no moment is without a commit.
"""

import shutil
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from cohort.run_folder import RunFolder, cut_back, file_size, read_json, sync_folder, write_json


@dataclass
class State:
    """The loop's own part of a commit."""

    step: int = 0
    fence: int = 0
    """Of the learner that committed."""
    sizes: dict[str, int] = field(default_factory=dict)
    evals: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Result of each evaluation, by policy version."""
    seconds: float = 0.0
    """Time spent in the loop by all learners up to this commit, lost work left out."""
    fingerprints: dict[str, str] = field(default_factory=dict)
    """Of the published versions that samples may still carry, by version."""
    num_completions: int = 0
    step_s: float = 0.0
    """Time of the steps alone: waiting, training, committing, publishing; not evaluating."""


class Commits:
    """The commits of a run, newest wins; older ones beyond `keep` are deleted."""

    def __init__(self, folder: RunFolder, keep: int) -> None:
        self.folder, self.keep = folder, keep
        self.rows = (folder.metrics, folder.completions, folder.ledger)
        self._step: int | None = None  # of the commit that is now the newest

    def newest(self) -> tuple[Path, State] | None:
        """Folder of the newest commit's policy part, and its state."""
        folders = self._all()
        if not folders:
            return None
        state = State(**read_json(folders[-1] / "state.json"))
        self._step = state.step
        return folders[-1] / "policy", state

    def write(self, state: State, save_policy: Callable[[Path], None]) -> None:
        """Commit. Raises OSError when it could not; nothing is lost then."""
        place = self.folder.checkpoints / f"step-{state.step:06d}"
        if self._step == state.step:
            self._write_state(place, state)
            return
        aside = place.with_name(f".{place.name}.tmp")
        shutil.rmtree(aside, ignore_errors=True)
        try:
            (aside / "policy").mkdir(parents=True)
            save_policy(aside / "policy")
            self._write_state(aside, state)
            shutil.rmtree(place, ignore_errors=True)
            aside.rename(place)
            sync_folder(self.folder.checkpoints)
        except OSError:
            shutil.rmtree(aside, ignore_errors=True)
            raise
        self._step = state.step
        for old in self._all()[: -self.keep]:
            shutil.rmtree(old, ignore_errors=True)

    def _write_state(self, place: Path, state: State) -> None:
        state.sizes = {path.name: file_size(path) for path in self.rows}
        write_json(place / "state.json", asdict(state))

    def rewind(self, state: State) -> None:
        """Cut the row files back to what they were at the commit; delete what is half written."""
        for path in self.rows:
            cut_back(path, state.sizes.get(path.name, 0))
        for room in (self.folder.checkpoints, self.folder.weights):
            for aside in room.glob(".*"):
                shutil.rmtree(aside, ignore_errors=True)

    def _all(self) -> list[Path]:
        """Finished commits, oldest first. A rename is the mark: what is half written has a dot."""
        return sorted(self.folder.checkpoints.glob("step-*"))
