"""What can be said of a run's model without loading it: whether it is there, how large it is."""

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cohort.bundled import MAKERS
from cohort.models import BUNDLED
from services.trainer.config import Settings

PUBLISHED_PARAMETERS = {"smollm2-135m-instruct": 134_515_008}
"""Number of parameters of bundled models, known before they are made."""
_HUB_NAME = re.compile(r"[A-Za-z0-9][\w.-]*(/[A-Za-z0-9][\w.-]*)?")
_MAX_HEADER_BYTES = 100 * 2**20


class ModelProblem(Exception):
    """The model cannot be used; the message is one sentence."""


@dataclass(frozen=True)
class ModelFacts:
    """What is known of a model. `parameters` is None when only its download would tell."""

    where: str
    """A phrase for people: where it comes from."""
    parameters: int | None = None
    source: str = ""
    """How the number of parameters is known."""
    layers: int | None = None
    hidden: int | None = None
    vocabulary: int | None = None


def look_up(path: str, settings: Settings) -> ModelFacts:
    """Reads config.json and safetensors headers only. Raises `ModelProblem`."""
    if path.startswith(BUNDLED):
        return _bundled(path.removeprefix(BUNDLED), settings)
    try:
        folder = Path(path).expanduser()
        there = folder.exists()
    except (OSError, RuntimeError) as error:  # a name too long, `~` of nobody
        why = getattr(error, "strerror", None) or error
        raise ModelProblem(f"model path {path[:80]} cannot be looked at: {why}") from None
    if not there and not path.startswith(("/", ".", "~")) and _HUB_NAME.fullmatch(path):
        return ModelFacts(f"Hugging Face name {path}: the learner downloads it")
    roots = settings.roots
    if roots is not None and not any(_is_inside(folder, root) for root in roots):
        allowed = ", ".join(str(root) for root in roots)
        raise ModelProblem(
            f"model folder {path} lies outside the folders that may be read ({allowed}):"
            " move it there, or name its folder in COHORT_MODEL_ROOTS"
        )
    return _folder(folder, f"folder {path}")


def _is_inside(folder: Path, root: Path) -> bool:
    return folder.resolve().is_relative_to(root.resolve())


def _bundled(name: str, settings: Settings) -> ModelFacts:
    if name not in MAKERS:
        known = ", ".join(f"{BUNDLED}{known}" for known in sorted(MAKERS))
        raise ModelProblem(f"there is no bundled model {name}: known are {known}")
    folder = settings.state_dir / "models" / name
    if folder.exists():
        return _folder(folder, f"bundled, ready in {folder}")
    number = PUBLISHED_PARAMETERS.get(name)
    return ModelFacts("bundled, made at first use", number, "as published")


def _folder(folder: Path, where: str) -> ModelFacts:
    if not folder.is_dir():
        what = "is a file, not a model folder" if folder.exists() else "does not exist"
        raise ModelProblem(f"model path {folder} {what}")
    try:
        config = json.loads((folder / "config.json").read_text())
    except FileNotFoundError:
        raise ModelProblem(
            f"model folder {folder} has no config.json: it is not a Hugging Face model"
        ) from None
    except (OSError, ValueError, RecursionError) as error:
        raise ModelProblem(f"{folder / 'config.json'} cannot be read: {error}") from None
    if not isinstance(config, dict):
        raise ModelProblem(f"{folder / 'config.json'} is not a JSON object")
    weights = sorted(folder.glob("*.safetensors"))
    if not weights:
        raise ModelProblem(
            f"model folder {folder} has no safetensors file; other kinds are not read"
        )
    return ModelFacts(
        where,
        sum(_count(file) for file in weights),
        "counted in the safetensors headers",
        _size(config, "num_hidden_layers"),
        _size(config, "hidden_size"),
        _size(config, "vocab_size"),
    )


def _size(config: dict[str, Any], name: str) -> int | None:
    value = config.get(name)
    return value if isinstance(value, int) and value > 0 else None


def _count(path: Path) -> int:
    """Parameters in a safetensors file: 8 bytes of length, then a JSON header with every shape."""
    try:
        with path.open("rb") as file:
            length = int.from_bytes(file.read(8), "little")
            if not 0 < length <= _MAX_HEADER_BYTES:
                raise ValueError("its header has no sensible length")
            header = json.loads(file.read(length))
        total = 0
        for name, tensor in header.items():
            if name != "__metadata__":
                number = 1
                for size in tensor["shape"]:
                    number *= int(size)
                total += number
        return total
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ModelProblem(f"{path} is not a safetensors file: {error}") from None
