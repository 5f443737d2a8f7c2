"""Publishes policy versions: weights first, then the record that generators follow."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from cohort.contracts.queue import GeneratorRecord, PolicyRecord
from cohort.run_folder import RunFolder
from cohort.weights import write_version
from services.trainer.learner.link import Link

if TYPE_CHECKING:
    from torch import Tensor


class Publisher:
    """Knows the fingerprint of every version in this learner's history."""

    def __init__(
        self,
        folder: RunFolder,
        link: Link,
        model_dir: Path,
        full_state: Callable[[], "dict[str, Tensor]"],
        max_lag: int,
    ) -> None:
        self.folder, self.link, self.model_dir = folder, link, model_dir
        self.full_state, self.max_lag = full_state, max_lag
        self._fingerprints: dict[int, str] = {}

    def fingerprint_of(self, version: int) -> str | None:
        """The fingerprint under which this history published `version`; None if it never did."""
        return self._fingerprints.get(version)

    def adopt(self, version: int, fingerprint: str) -> None:
        """A version that the commit we resumed from had already published."""
        self._fingerprints[version] = fingerprint

    def known(self) -> dict[str, str]:
        """Fingerprints by version, for the commit."""
        return {str(version): mark for version, mark in self._fingerprints.items()}

    def publish(self, version: int) -> None:
        """Make the policy of now the current `version` for every generator."""
        self.link.check()
        place = self.folder.weights / str(version)
        fingerprint = write_version(place, version, self.full_state(), self.model_dir)
        self._fingerprints[version] = fingerprint
        record = PolicyRecord(
            run_id=self.folder.run_id,
            version=version,
            path=f"{self.folder.run_id}/weights/{version}",
            fingerprint=fingerprint,
            fence=self.link.fence,
        )
        self.link.publish(record)
        self._delete_old(version)

    def settle(self, version: int) -> None:
        """Right after a start: until generators have left the weights that a crash undid.

        They are newer than `version`, so a generator that has not looked at the record yet would
        answer with them. One that never leaves them is not waited for beyond the run's limit: what
        it samples is dropped.
        """
        self.link.wait_while(lambda: self._stray(version))

    def _stray(self, version: int) -> str | None:
        for generator in self.link.generators():
            ours = generator.run_id == self.folder.run_id
            reachable = generator.version >= version - self.max_lag
            if ours and reachable and self._differs(generator):
                return (
                    f"generator {generator.generator_id}: it still serves version"
                    f" {generator.version} of a learner that crashed"
                )
        return None

    def _differs(self, generator: GeneratorRecord) -> bool:
        return self._fingerprints.get(generator.version) != generator.fingerprint

    def _delete_old(self, version: int) -> None:
        """Versions that neither a sample in flight nor a generator can still need."""
        in_use = {g.version for g in self.link.generators() if g.run_id == self.folder.run_id}
        for place in self.folder.weights.iterdir():
            number = int(place.name) if place.name.isdigit() else None
            if number is None or number in in_use or number > version:
                continue
            if number < version - (self.max_lag + 2):
                shutil.rmtree(place, ignore_errors=True)
                self._fingerprints.pop(number, None)
