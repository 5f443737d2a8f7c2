"""The reward service's door: validate, ask the grader, shape the reply."""

import gc
import logging
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager
from typing import Annotated, Any

from fastapi import APIRouter, Body, FastAPI, Request, Response
from fastapi.routing import APIRoute

from cohort.contracts.reward import (
    DiagnosticsResponse,
    ScoreResponse,
    ScoreResult,
    VerifiersResponse,
)
from cohort.web import ApiError, create_service, error_response
from services.reward.ask import Ask
from services.reward.config import Settings
from services.reward.dialects import add_dialects
from services.reward.grader import Grader, Overloaded, RequestError
from services.reward.results import spell

log = logging.getLogger("cohort.reward")
_LOGGED_ITEMS, _LOGGED_CHARACTERS = 32, 500


def create_app(grader: Grader, settings: Settings) -> FastAPI:
    """The app around a grader; the grader is closed when the app stops."""

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        gc.collect()
        gc.freeze()  # what is loaded by now stays: full collections need not walk through it
        yield
        await grader.aclose()

    app = create_service(
        "reward",
        "Scores completions with verifiable rewards.",
        settings,
        grader.missing,
        grader.registry,
        ready_details=grader.degraded,
        lifespan=lifespan,
    )
    _add_error_handlers(app)
    fast = APIRouter(route_class=_AskRoute)

    @fast.post("/v1/score", tags=["reward"], response_model=ScoreResponse)
    async def score(ask: Annotated[Ask, Body()], request: Request) -> Response:
        """Score a batch; results come in the order of the items."""
        results = await grader.judge(ask)
        if settings.log_completions:
            _log_completions(ask, results, request)
        return Response(spell(ask.items, results), media_type="application/json")

    app.router.routes += fast.routes
    add_dialects(app, grader, settings)

    @app.get("/v1/verifiers", tags=["reward"])
    async def verifiers() -> VerifiersResponse:
        """What can be verified, and with which parameters."""
        return VerifiersResponse(verifiers=grader.describe())

    @app.get("/v1/diagnostics", tags=["reward"])
    async def diagnostics() -> DiagnosticsResponse:
        """What the recent outcomes of each verifier look like."""
        return grader.diagnostics.report()

    return app


class _AskRoute(APIRoute):
    """Declared like any other route, which keeps its schema exact, but reads its body itself."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Read what is asked, call the endpoint."""
        endpoint = self.endpoint

        async def handle(request: Request) -> Response:
            response: Response = await endpoint(Ask.read(await request.body()), request)
            return response

        return handle


def _add_error_handlers(app: FastAPI) -> None:
    async def refused(_: Request, error: Exception) -> Response:
        assert isinstance(error, RequestError)
        return error_response(ApiError(error.status, error.code, str(error)))

    async def overloaded(_: Request, error: Exception) -> Response:
        return error_response(ApiError(429, "overloaded", str(error), retry_after_s=1))

    app.add_exception_handler(RequestError, refused)
    app.add_exception_handler(Overloaded, overloaded)


def _log_completions(ask: Ask, results: Sequence[ScoreResult], request: Request) -> None:
    """The beginnings of the first items: asked for, but bounded all the same."""
    shown = list(zip(ask.items, results, strict=True))[:_LOGGED_ITEMS]
    items = [
        {
            "id": item.id[:_LOGGED_CHARACTERS],
            "completion": item.completion[:_LOGGED_CHARACTERS],
            "score": result.score,
            "status": result.status,
        }
        for item, result in shown
    ]
    fields = {"request_id": request.state.request_id, "num_items": len(results), "items": items}
    log.info("scored", extra={"fields": fields})
