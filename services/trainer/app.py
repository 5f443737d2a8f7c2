"""The trainer's door: start runs, look at them, steer them. The dashboard has a door of its own."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from typing import Annotated, Literal

import anyio.to_thread
from fastapi import Depends, FastAPI, Header, Query, Request
from fastapi.responses import JSONResponse, Response, StreamingResponse
from prometheus_client import Gauge

from cohort.contracts.trainer import (
    CompletionsResponse,
    DryRunResponse,
    MetricsResponse,
    RunsResponse,
    RunState,
    RunView,
    StartResponse,
)
from cohort.web import ApiError, create_service
from services.trainer import __doc__ as promise
from services.trainer.body import read_config
from services.trainer.config import Settings
from services.trainer.dashboard import OPEN_PATHS, dashboard
from services.trainer.events import Closing, event_stream, first_events
from services.trainer.run_files import completion_rows, metric_rows
from services.trainer.runs import KeyReused, UnknownRun
from services.trainer.supervisor import Verb, WrongState
from services.trainer.worker import Trainer

STATES: tuple[RunState, ...] = (
    *("queued", "starting", "running", "paused"),
    *("succeeded", "failed", "cancelled"),
)


def same_origin(request: Request) -> None:
    """Refuse what a page of another site makes a browser send here."""
    origin, host = request.headers.get("origin"), request.headers.get("host", "")
    if origin is not None and origin.partition("://")[2] != host:
        raise ApiError(
            403, "cross_origin", f"A page of {origin} may not start or steer runs of this trainer."
        )


def create_app(worker: Trainer, settings: Settings) -> FastAPI:
    """The API in front of `worker`, whose supervisor runs as long as the app does."""

    closing = Closing()

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        closing.listen()
        await worker.supervisor.start()
        try:
            yield
        finally:
            await worker.supervisor.stop()

    async def ready() -> list[str]:
        return await anyio.to_thread.run_sync(worker.missing)

    app = create_service(
        "trainer", promise or "", settings, ready, open_paths=OPEN_PATHS, lifespan=lifespan
    )
    runs = Gauge("cohort_trainer_runs", "Runs", ["state"], registry=app.state.registry)
    for state in STATES:
        runs.labels(state).set_function(partial(worker.registry.count, state))
    _say_unknown_runs(app)
    _add_start(app, worker)
    _add_views(app, worker)
    _add_events(app, worker, closing)
    _add_steering(app, worker)
    app.include_router(dashboard(settings))
    return app


def _say_unknown_runs(app: FastAPI) -> None:
    async def unknown_run(_: Request, error: Exception) -> Response:
        message = f"There is no run {error}: GET /runs lists all."
        body = {"error": {"code": "unknown_run", "message": message, "details": {}}}
        return JSONResponse(body, status_code=404)

    app.add_exception_handler(UnknownRun, unknown_run)


def _add_start(app: FastAPI, worker: Trainer) -> None:
    @app.post("/train", status_code=202, dependencies=[Depends(same_origin)], tags=["runs"])
    async def train(
        request: Request,
        response: Response,
        dry_run: bool = False,
        idempotency_key: Annotated[str | None, Header(max_length=255)] = None,
    ) -> StartResponse | DryRunResponse:
        """Accept a run config (JSON, or YAML as application/yaml); `dry_run` only reports."""
        config = await read_config(request)
        if dry_run:
            response.status_code = 200
            return await worker.preflight.report(config)
        if not worker.registry.knows(idempotency_key):
            refuse(await worker.preflight.problems(config))
        try:
            record = await worker.supervisor.submit(config, idempotency_key)
        except KeyReused as error:
            raise ApiError(
                409,
                "idempotency_conflict",
                f"This Idempotency-Key started run {error} with another config: use a new key.",
            ) from None
        except OSError as error:
            raise ApiError(
                507, "disk", f"The run could not be written to disk: {error.strerror or error}."
            ) from None
        url = f"{str(request.base_url).rstrip('/')}/runs/{record.run_id}"
        return StartResponse(run_id=record.run_id, state=record.state, url=url)


def refuse(problems: list[str]) -> None:
    """Answer 422 when there are problems."""
    if problems:
        raise ApiError(422, "invalid_config", "; ".join(problems[:8]), {"problems": problems})


def _add_views(app: FastAPI, worker: Trainer) -> None:
    registry = worker.registry

    @app.get("/runs", tags=["runs"])
    def runs() -> RunsResponse:
        """All runs, newest first."""
        return RunsResponse(runs=tuple(registry.view(r.run_id) for r in registry.records()))

    @app.get("/runs/{run_id}", tags=["runs"])
    def run(run_id: str) -> RunView:
        """One run."""
        return registry.view(run_id)

    @app.get("/runs/{run_id}/metrics", tags=["runs"])
    def metrics(
        run_id: str, since: int = -1, limit: Annotated[int, Query(ge=1, le=100_000)] = 10_000
    ) -> MetricsResponse:
        """The first `limit` rows of metrics.jsonl whose step is above `since`."""
        return MetricsResponse(
            rows=tuple(metric_rows(registry.folder(run_id).metrics, since, limit))
        )

    @app.get("/runs/{run_id}/completions", tags=["runs"])
    def completions(
        run_id: str,
        step: Annotated[int | None, Query(ge=0)] = None,
        purpose: Literal["train", "eval"] | None = None,
        limit: Annotated[int, Query(ge=1, le=10_000)] = 1_000,
    ) -> CompletionsResponse:
        """Sampled completions of a step (of the newest without `step`)."""
        path = registry.folder(run_id).completions
        return CompletionsResponse(rows=tuple(completion_rows(path, step, purpose, limit)))

    @app.get("/runs/{run_id}/config", tags=["runs"], response_model=None)
    def config(run_id: str, request: Request) -> Response:
        """The resolved config: YAML, or JSON with `Accept: application/json`."""
        try:
            resolved = registry.config(run_id)
        except FileNotFoundError:
            message = f"The folder of run {run_id} is not there any more."
            raise ApiError(404, "files_gone", message) from None
        if "application/json" in request.headers.get("accept", ""):
            return JSONResponse(resolved.model_dump(mode="json"))
        return Response(resolved.to_yaml(), media_type="application/yaml")


def _add_events(app: FastAPI, worker: Trainer, closing: Closing) -> None:
    @app.get("/runs/{run_id}/events", tags=["runs"], response_model=None)
    async def events(run_id: str, last_event_id: Annotated[int, Header(ge=0)] = 0) -> Response:
        """Server-sent events after `Last-Event-ID`; 204 when the run has ended and none is left."""
        reader, first, over = await first_events(worker.registry, run_id, last_event_id)
        if over:
            return Response(status_code=204)
        stream = event_stream(worker.registry, run_id, reader, first, closing)
        headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
        return StreamingResponse(stream, media_type="text/event-stream", headers=headers)


def _add_steering(app: FastAPI, worker: Trainer) -> None:
    @app.post(
        "/runs/{run_id}/{verb}", status_code=202, dependencies=[Depends(same_origin)], tags=["runs"]
    )
    async def steer(run_id: str, verb: Verb) -> RunView:
        """Cancel, pause or resume; 409 when the run's state does not allow it."""
        try:
            worker.supervisor.steer(run_id, verb)
        except WrongState as error:
            raise ApiError(409, "wrong_state", str(error)) from None
        return await anyio.to_thread.run_sync(worker.registry.view, run_id)
