"""Typed clients of the four services: the only file that knows their URLs.

`RewardClient` and `TrainerClient` block; the `Async...` ones run under asyncio and Trio alike. What
is retried, and for how long, `cohort.transport` says.
"""

import json
import time
import uuid
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Literal

import httpx

from cohort.contracts.generator import (
    ChatMessage,
    GenerateRequest,
    GenerateResponse,
    PolicyResponse,
    RenderRequest,
    RenderResponse,
    WeightsRequest,
)
from cohort.contracts.reward import (
    CacheMode,
    DiagnosticsResponse,
    RewardSpec,
    ScoreItem,
    ScoreRequest,
    ScoreResponse,
    ScoreResult,
    VerifiersResponse,
)
from cohort.contracts.sandbox import BackendsResponse, RunRequest, RunResponse
from cohort.contracts.trainer import (
    CompletionsResponse,
    DryRunResponse,
    MetricsResponse,
    RunEvent,
    RunsResponse,
    RunView,
    StartResponse,
)
from cohort.transport import AsyncClient, Client, Retry, ServiceError, Unreachable, error_of

__all__ = [
    "AsyncGeneratorClient",
    "AsyncRewardClient",
    "AsyncSandboxClient",
    "RewardClient",
    "ServiceError",
    "TrainerClient",
    "Unreachable",
]

_SILENCE_S = 35.0
"""An event stream that says nothing, not even a heartbeat, for this long is dead."""


class RewardClient(Client):
    """Scores completions: `RewardClient("http://localhost:8002").score(items, rewards)`."""

    service = "reward"

    def score(
        self,
        items: Sequence[ScoreItem],
        rewards: Sequence[RewardSpec] = (),
        timeout_s: float = 60.0,
        cache: CacheMode = "use",
    ) -> tuple[ScoreResult, ...]:
        """One result for each item, in the same order."""
        request = ScoreRequest(
            items=tuple(items), rewards=tuple(rewards), timeout_s=timeout_s, cache=cache
        )
        return self.call("POST", "/v1/score", ScoreResponse, request).results

    def verifiers(self) -> VerifiersResponse:
        """What the service can verify, with parameters."""
        return self.call("GET", "/v1/verifiers", VerifiersResponse)

    def diagnostics(self) -> DiagnosticsResponse:
        """What the recent outcomes of each verifier look like."""
        return self.call("GET", "/v1/diagnostics", DiagnosticsResponse)


class AsyncRewardClient(AsyncClient):
    """The reward service, for async programs."""

    service = "reward"

    async def score(self, request: ScoreRequest) -> tuple[ScoreResult, ...]:
        """One result for each item, in the same order."""
        wait_s = request.timeout_s + 5.0
        reply = await self.call("POST", "/v1/score", ScoreResponse, request, timeout_s=wait_s)
        return reply.results

    async def verifiers(self) -> VerifiersResponse:
        """What the service can verify, with parameters."""
        return await self.call("GET", "/v1/verifiers", VerifiersResponse)

    async def diagnostics(self) -> DiagnosticsResponse:
        """What the recent outcomes of each verifier look like."""
        return await self.call("GET", "/v1/diagnostics", DiagnosticsResponse)


class AsyncGeneratorClient(AsyncClient):
    """A generator: samples completions, renders prompts, loads weights."""

    service = "generator"

    async def generate(self, request: GenerateRequest) -> GenerateResponse:
        """Completions of one prompt."""
        wait_s = request.timeout_s + 5.0
        return await self.call("POST", "/v1/generate", GenerateResponse, request, timeout_s=wait_s)

    async def render(self, request: RenderRequest) -> RenderResponse:
        """Token ids of messages or text."""
        return await self.call("POST", "/v1/render", RenderResponse, request)

    async def load(self, request: WeightsRequest) -> PolicyResponse:
        """Load a version by hand."""
        return await self.call("POST", "/v1/weights", PolicyResponse, request)

    async def policy(self) -> PolicyResponse:
        """What is loaded."""
        return await self.call("GET", "/v1/policy", PolicyResponse)

    async def chat(
        self, messages: Sequence[ChatMessage], temperature: float = 1.0, max_tokens: int = 256
    ) -> str:
        """The next turn of a conversation, by the OpenAI-compatible door."""
        turns = [message.model_dump() for message in messages]
        body: dict[str, Any] = {"model": "policy", "messages": turns}
        body |= {"temperature": temperature, "max_tokens": max_tokens}
        response = await self.request("POST", "/v1/chat/completions", json=body)
        return str(response.json()["choices"][0]["message"]["content"])


class AsyncSandboxClient(AsyncClient):
    """The sandbox: runs untrusted programs."""

    service = "sandbox"

    async def run(self, request: RunRequest) -> RunResponse:
        """Run a program. One that fails is a result; the status `infra_error` is not its fault."""
        runs = max(1, len(request.cases))
        wait_s = 30.0 + 2 * runs * request.limits.wall_stop_ms / 1_000
        return await self.call("POST", "/v1/run", RunResponse, request, timeout_s=wait_s)

    async def backends(self) -> BackendsResponse:
        """How programs are isolated there, and what was tried."""
        return await self.call("GET", "/v1/backends", BackendsResponse)


class TrainerClient(Client):
    """Starts runs, looks at them, steers them."""

    service = "trainer"

    def start(
        self, config: str | dict[str, Any], idempotency_key: str | None = None
    ) -> StartResponse:
        """Start a run from YAML text or a mapping; the key makes a repeated call safe."""
        key = idempotency_key or uuid.uuid4().hex
        content, headers = _config_body(config)
        headers["Idempotency-Key"] = key
        response = self.request("POST", "/train", content=content, headers=headers)
        return StartResponse.model_validate_json(response.content)

    def dry_run(self, config: str | dict[str, Any], timeout_s: float = 300.0) -> DryRunResponse:
        """What would stand in the run's way; starts nothing."""
        content, headers = _config_body(config)
        response = self.request(
            *("POST", "/train"),
            params={"dry_run": "true"},
            content=content,
            headers=headers,
            timeout=timeout_s,
        )
        return DryRunResponse.model_validate_json(response.content)

    def runs(self) -> RunsResponse:
        """All runs, newest first."""
        return self.call("GET", "/runs", RunsResponse)

    def run(self, run_id: str) -> RunView:
        """One run."""
        return self.call("GET", f"/runs/{run_id}", RunView)

    def cancel(self, run_id: str) -> RunView:
        """End a run for good."""
        return self.call("POST", f"/runs/{run_id}/cancel", RunView)

    def pause(self, run_id: str) -> RunView:
        """Commit, stop, and leave the place to others."""
        return self.call("POST", f"/runs/{run_id}/pause", RunView)

    def resume(self, run_id: str) -> RunView:
        """Put a paused run in line again."""
        return self.call("POST", f"/runs/{run_id}/resume", RunView)

    def metrics(self, run_id: str, since: int = -1) -> MetricsResponse:
        """Rows of metrics.jsonl of later steps than `since`, at most 10 000 at a time."""
        response = self.request("GET", f"/runs/{run_id}/metrics", params={"since": since})
        return MetricsResponse.model_validate_json(response.content)

    def completions(
        self,
        run_id: str,
        step: int | None = None,
        purpose: Literal["train", "eval"] | None = None,
    ) -> CompletionsResponse:
        """Sampled completions of a step (an evaluation's: its version); else the newest."""
        asked = {"step": step, "purpose": purpose}
        params = {name: value for name, value in asked.items() if value is not None}
        response = self.request("GET", f"/runs/{run_id}/completions", params=params)
        return CompletionsResponse.model_validate_json(response.content)

    def config(self, run_id: str) -> dict[str, Any]:
        """The resolved config, for `RunConfig.from_dict`."""
        headers = {"Accept": "application/json"}
        response = self.request("GET", f"/runs/{run_id}/config", headers=headers)
        resolved: dict[str, Any] = response.json()
        return resolved

    def events(self, run_id: str, after: int = 0) -> Iterator[RunEvent]:
        """Events after id `after`, as they happen; reconnects and loses none.

        Ends when the run has ended, or is paused. Raises `Unreachable` when the trainer stays away
        for `retry_for_s`.
        """
        retry = Retry(self.retry_for_s)
        while True:
            try:
                for event in self._stream(run_id, after):
                    if event is None:
                        return
                    after, retry = event.id, Retry(self.retry_for_s)
                    yield event
                    if event.data.get("state") == "paused" and self.run(run_id).state == "paused":
                        return
            except httpx.TransportError as error:
                why = str(error) or type(error).__name__
                time.sleep(retry.next_wait_s(Unreachable(self.service, self.url, why)))
            except ServiceError as error:
                time.sleep(retry.next_wait_s(error))

    def _stream(self, run_id: str, after: int) -> Iterator[RunEvent | None]:
        """One connection's events; None when the trainer says that no more will come."""
        with self.http.stream(
            "GET",
            f"/runs/{run_id}/events",
            headers={"Last-Event-ID": str(after)},
            timeout=httpx.Timeout(10.0, read=_SILENCE_S),
        ) as response:
            if response.status_code == httpx.codes.NO_CONTENT:
                yield None
            if not response.is_success:
                response.read()
                raise error_of(self.service, response)
            yield from _read_events(response.iter_lines())


def _config_body(config: str | dict[str, Any]) -> tuple[str, dict[str, str]]:
    if isinstance(config, str):
        return config, {"Content-Type": "application/yaml"}
    return json.dumps(config), {"Content-Type": "application/json"}


def _read_events(lines: Iterable[str]) -> Iterator[RunEvent]:
    """Server-sent events whose data is one line of JSON, as the trainer sends them."""
    for line in lines:
        if line.startswith("data: "):
            yield RunEvent.model_validate_json(line.removeprefix("data: "))
