"""The generator's door: turn prompts into ids, ask the sampler, shape the reply."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from typing import Protocol

from fastapi import FastAPI, Request
from fastapi.responses import Response

from cohort.bundled import ModelError
from cohort.contracts.generator import (
    GenerateRequest,
    GenerateResponse,
    PolicyResponse,
    RenderRequest,
    RenderResponse,
    WeightsRequest,
)
from cohort.web import ApiError, create_service, error_response
from cohort.weights import WeightsError
from services.generator.config import Settings
from services.generator.engines.base import EngineError, GroupRequest
from services.generator.follower import PathRefused, inside
from services.generator.openai import add_openai_routes
from services.generator.replies import generate_reply, policy_reply
from services.generator.requests import prompt_ids, rendered, while_wanted
from services.generator.sampler import Sampler, SamplerError

_STATUS = {
    "wrong_policy": 409,
    "stale_policy": 409,
    "bad_prompt": 422,
    "overloaded": 429,
    "no_policy": 503,
    "stopping": 503,
    "timeout": 504,
}


class Background(Protocol):
    """What keeps the sampler on a policy while the app runs."""

    async def run(self) -> None:
        """Until cancelled."""
        ...

    def missing(self) -> list[str]:
        """What stands in the way, one sentence each."""
        ...


def create_app(
    sampler: Sampler, settings: Settings, background: Background | None = None
) -> FastAPI:
    """The app around a sampler that was started; `background` runs as long as the app does."""

    async def ready() -> list[str]:
        return background.missing() if background else []

    app = create_service(
        "generator",
        "Samples completions of the policy under training; owns tokenizer and chat template.",
        settings,
        ready,
        sampler.registry,
        lifespan=_lifespan(sampler, background),
    )
    app.add_exception_handler(SamplerError, _refused)
    app.add_exception_handler(EngineError, _refused)
    _add_generate(app, sampler)
    _add_policy(app, sampler, settings)
    add_openai_routes(app, sampler)
    return app


def _add_generate(app: FastAPI, sampler: Sampler) -> None:
    @app.post("/v1/generate", tags=["generator"])
    async def generate(body: GenerateRequest, request: Request) -> GenerateResponse:
        """Complete a prompt `num_completions` times under one policy version."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + body.timeout_s
        waiting = sampler.wait_for(body.run_id, body.min_policy_version, body.timeout_s)
        await while_wanted(request, waiting)
        ids = await asyncio.to_thread(prompt_ids, sampler.engine, body)
        group = GroupRequest(
            prompt_ids=ids,
            num_completions=body.num_completions,
            max_new_tokens=body.max_new_tokens,
            temperature=body.temperature,
            top_p=body.top_p,
            seed=body.seed,
            stop=body.stop,
        )
        sampling = sampler.sample(
            group,
            run_id=body.run_id,
            min_version=body.min_policy_version,
            timeout_s=deadline - loop.time(),
        )
        return generate_reply(ids, await while_wanted(request, sampling))

    @app.post("/v1/render", tags=["generator"])
    async def render(body: RenderRequest) -> RenderResponse:
        """Token ids of messages or text, after `prefix_ids`."""
        await sampler.wait_for(None, 0, 0.0)
        return RenderResponse(ids=await asyncio.to_thread(rendered, sampler.engine, body))


def _add_policy(app: FastAPI, sampler: Sampler, settings: Settings) -> None:
    @app.get("/v1/policy", tags=["generator"])
    async def policy() -> PolicyResponse:
        """What is served now."""
        return policy_reply(sampler)

    @app.post("/v1/weights", tags=["generator"])
    async def weights(body: WeightsRequest) -> PolicyResponse:
        """Load a version by hand; while a run is active, its policy record wins again."""
        try:
            folder = inside(settings.runs_dir, body.path)
            await sampler.load_version(folder, body.run_id, body.version, None)
        except PathRefused as error:
            raise ApiError(422, "path_refused", f"{error}.") from None
        except (WeightsError, ModelError, OSError, RuntimeError) as error:
            raise ApiError(409, "weights_refused", f"{error}.") from None
        return policy_reply(sampler)


def _lifespan(
    sampler: Sampler, background: Background | None
) -> Callable[[FastAPI], AbstractAsyncContextManager[None]]:
    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        task = asyncio.create_task(background.run()) if background else None
        yield
        if task:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
        await asyncio.to_thread(sampler.stop)

    return lifespan


async def _refused(_: Request, error: Exception) -> Response:
    code = error.code if isinstance(error, SamplerError) else "bad_prompt"
    busy = 1 if code in {"overloaded", "no_policy", "stopping"} else None
    return error_response(ApiError(_STATUS.get(code, 500), code, f"{error}.", None, busy))
