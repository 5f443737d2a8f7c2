"""A generator of its own: serves one model as version 0 of no run, without Redis."""

import asyncio
import logging
from pathlib import Path

from cohort.models import ModelError, resolve_model
from services.generator.sampler import Sampler, SamplerError

log = logging.getLogger("cohort.generator")


class Alone:
    """Loads a model once, while the app already answers /health."""

    def __init__(self, sampler: Sampler, model: str, state_dir: Path) -> None:
        self.sampler, self.model, self.state_dir = sampler, model, state_dir
        self.problem: str | None = f"the model {model} is being loaded"

    def missing(self) -> list[str]:
        """For /ready."""
        return [self.problem] if self.problem else []

    async def run(self) -> None:
        """Load; a model that cannot be loaded is said in /ready and in the log."""
        try:
            folder = await asyncio.to_thread(resolve_model, self.model, self.state_dir)
            await self.sampler.load_model(folder, self.model)
        except (ModelError, SamplerError, OSError) as error:
            log.error("%s", error)
            self.problem = str(error)
        else:
            self.problem = None
