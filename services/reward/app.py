"""The reward service's door: validate, ask the grader, shape the reply."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import FastAPI

from cohort.contracts.reward import ScoreRequest, ScoreResponse, VerifiersResponse
from cohort.web import ApiError, create_service
from services.reward.config import Settings
from services.reward.grader import Grader, Overloaded, RequestError


def create_app(grader: Grader, settings: Settings) -> FastAPI:
    """The app around a grader; the grader is closed when the app stops."""

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        yield
        await grader.aclose()

    app = create_service(
        "reward",
        "Scores completions with verifiable rewards.",
        settings,
        grader.missing,
        grader.registry,
        lifespan=lifespan,
    )

    @app.post("/v1/score", tags=["reward"])
    async def score(request: ScoreRequest) -> ScoreResponse:
        """Score a batch; results come in the order of the items."""
        try:
            return ScoreResponse(results=await grader.score(request))
        except RequestError as error:
            raise ApiError(422, error.code, str(error)) from None
        except Overloaded as error:
            raise ApiError(429, "overloaded", str(error), retry_after_s=1) from None

    @app.get("/v1/verifiers", tags=["reward"])
    async def verifiers() -> VerifiersResponse:
        """What can be verified, and with which parameters."""
        return VerifiersResponse(verifiers=grader.describe())

    return app
