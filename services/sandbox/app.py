"""The sandbox's door: validate, run, shape the reply."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from fastapi import FastAPI, Request
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from cohort.contracts.sandbox import BackendsResponse, RunRequest, RunResponse
from cohort.web import ApiError, create_service
from services.sandbox import __doc__ as promise
from services.sandbox.config import Settings
from services.sandbox.runner import NoIsolation, Overloaded, Sandbox


class Metrics:
    """Prometheus metrics of the sandbox."""

    def __init__(self, sandbox: Sandbox, registry: CollectorRegistry) -> None:
        name = "cohort_sandbox"
        self.runs = Counter(f"{name}_runs_total", "Runs by status", ["status"], registry=registry)
        self.again = Counter(f"{name}_repeated_total", "Runs tried twice", registry=registry)
        self.cut = Counter(f"{name}_truncated_total", "Outputs cut", registry=registry)
        self.leftovers = Counter(f"{name}_leftovers_total", "Processes reaped", registry=registry)
        self.cpu = Histogram(f"{name}_cpu_seconds", "CPU time of runs", registry=registry)
        self.queue = Histogram(f"{name}_queue_seconds", "Wait for a slot", registry=registry)
        waiting = Gauge(f"{name}_waiting", "Requests that wait for a slot", registry=registry)
        waiting.set_function(lambda: sandbox.waiting)
        running = Gauge(f"{name}_running", "Slots in use", registry=registry)
        running.set_function(lambda: sandbox.running)

    def count(self, reply: RunResponse) -> None:
        """Take a reply into account."""
        self.again.inc(reply.attempt - 1)
        self.leftovers.inc(reply.leftovers)
        self.queue.observe(reply.queue_ms / 1e3)
        for run in reply.cases or (reply,):
            self.runs.labels(run.status).inc()
            self.cut.inc(run.stdout_truncated + run.stderr_truncated)
            self.cpu.observe(run.cpu_ms / 1e3)


def create_app(sandbox: Sandbox, settings: Settings) -> FastAPI:
    """The HTTP service around a worker. Self-tests start with it, or with the first request."""

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        starting = asyncio.create_task(sandbox.start())
        yield
        starting.cancel()
        sandbox.close()

    async def ready() -> Sequence[str]:
        await sandbox.start()
        missing = sandbox.missing()
        return [] if missing is None else [missing]

    def details() -> dict[str, str | None]:
        chosen = sandbox.chosen
        if chosen is None:
            return {"backend": None, "level": None}
        return {"backend": chosen.name, "level": chosen.level}

    app = create_service(
        "sandbox", promise or "", settings, ready, ready_details=details, lifespan=lifespan
    )
    metrics = Metrics(sandbox, app.state.registry)

    @app.post("/v1/run", tags=["sandbox"])
    async def run(body: RunRequest, request: Request) -> RunResponse:
        """Run a program once, or once per case. The client's leaving ends the program."""
        reply = await _while_connected(request, sandbox, body)
        metrics.count(reply)
        return reply

    @app.get("/v1/backends", tags=["sandbox"])
    async def backends() -> BackendsResponse:
        """Which backend runs programs, and what the self-tests of all that were tried found."""
        await sandbox.start()
        return sandbox.describe()

    return app


async def _while_connected(request: Request, sandbox: Sandbox, body: RunRequest) -> RunResponse:
    running = asyncio.create_task(sandbox.run(body))
    leaving = asyncio.create_task(_disconnected(request))
    try:
        await asyncio.wait({running, leaving}, return_when=asyncio.FIRST_COMPLETED)
        if not running.done():
            raise ApiError(499, "client_left", "The client closed the connection.")
        return running.result()
    except Overloaded as error:
        message = f"The sandbox is busy: {error}. Try again in a moment."
        raise ApiError(429, "overloaded", message, retry_after_s=1) from None
    except NoIsolation as error:
        raise ApiError(503, "no_isolation", str(error)) from None
    finally:
        for task in (running, leaving):
            task.cancel()
        await asyncio.gather(running, leaving, return_exceptions=True)


async def _disconnected(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass
