"""Every route and every status of the generator, on a tiny model."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
import torch

from cohort.clients import AsyncGeneratorClient, ServiceError
from cohort.contracts.generator import ChatMessage, GenerateRequest, RenderRequest, WeightsRequest
from cohort.models import load_model, load_tokenizer, resolve_model
from cohort.weights import write_version
from services.generator.alone import Alone
from services.generator.app import create_app
from services.generator.config import Settings
from services.generator.engines.base import GroupRequest
from services.generator.engines.local import LocalEngine
from services.generator.sampler import Sampler, SamplerError

TINY = "bundled:tiny-random"
USER = (ChatMessage(role="user", content="2 + 2?"),)


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return resolve_model(TINY, tmp_path_factory.mktemp("state"))


@pytest.fixture
def sampler() -> Iterator[Sampler]:
    sampler = Sampler(LocalEngine(compute_dtype="float32"), window_s=0.003)
    sampler.start()
    yield sampler
    sampler.stop()


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(runs_dir=tmp_path / "runs")


@asynccontextmanager
async def client_of(sampler: Sampler, settings: Settings) -> AsyncIterator[AsyncGeneratorClient]:
    transport = httpx.ASGITransport(create_app(sampler, settings))
    client = AsyncGeneratorClient("http://generator", transport=transport, retry_for_s=0.0)
    yield client
    await client.aclose()


def publish(settings: Settings, tiny: Path, version: int, run_id: str = "r") -> str:
    state = dict(load_model(tiny, torch.float32).named_parameters())
    with torch.no_grad():
        for tensor in state.values():
            tensor.add_(0.01 * version)
    folder = settings.runs_dir / run_id / "weights" / str(version)
    return write_version(folder, version, state, tiny)


async def refused(call: Any) -> tuple[int, str]:
    with pytest.raises(ServiceError) as caught:
        await call
    return caught.value.status, caught.value.code


def test_completions_carry_what_training_needs(
    sampler: Sampler, settings: Settings, tiny: Path
) -> None:
    async def main() -> None:
        fingerprint = publish(settings, tiny, 3)
        async with client_of(sampler, settings) as client:
            loaded = await client.load(WeightsRequest(run_id="r", version=3, path="r/weights/3"))
            assert (loaded.run_id, loaded.version, loaded.engine) == ("r", 3, "local")
            assert loaded.fingerprint == fingerprint
            assert await client.policy() == loaded
            request = GenerateRequest(
                run_id="r", messages=USER, num_completions=3, max_new_tokens=9, seed=4
            )
            reply = await client.generate(request)
            rendered = await client.render(RenderRequest(messages=USER))
            assert reply.prompt_ids == rendered.ids
            assert (reply.run_id, reply.policy_version) == ("r", 3)
            assert reply.fingerprint == fingerprint
            assert len({done.ids for done in reply.completions}) == 3
            for done in reply.completions:
                assert len(done.ids) == len(done.logprobs) == len(done.offsets)
                assert done.offsets[-1] == len(done.text)
                assert [tuple(s.model_dump().values()) for s in done.version_spans] == [
                    (3, 0, len(done.ids))
                ]
            sampled = sum(len(done.ids) for done in reply.completions)
            assert reply.usage.completion_tokens == sampled
            assert reply.usage.total_tokens == sampled + len(reply.prompt_ids)
            by_ids = request.model_copy(update={"messages": None, "prompt_ids": rendered.ids})
            assert (await client.generate(by_ids)).completions == reply.completions

    asyncio.run(main())


def test_render_puts_the_prefix_in_front_unchanged(
    sampler: Sampler, settings: Settings, tiny: Path
) -> None:
    async def main() -> None:
        await sampler.load_model(tiny, TINY)
        tokenizer = load_tokenizer(tiny)
        async with client_of(sampler, settings) as client:
            chat = (await client.render(RenderRequest(messages=USER))).ids
            assert tokenizer.decode(chat) == (
                "<|im_start|>user\n2 + 2?<|im_end|>\n<|im_start|>assistant\n"
            )
            text = (await client.render(RenderRequest(text=" ok", prefix_ids=(7, 2)))).ids
            assert text[:2] == (7, 2)
            assert tokenizer.decode(text[2:]) == " ok"
            assert await refused(client.render(RenderRequest())) == (422, "invalid_request")

    asyncio.run(main())


def test_wrong_requests_are_refused_with_a_reason(
    sampler: Sampler, settings: Settings, tiny: Path
) -> None:
    async def main() -> None:
        async with client_of(sampler, settings) as client:
            nothing = GenerateRequest(prompt="a", timeout_s=0.05)
            assert await refused(client.generate(nothing)) == (503, "no_policy")
            assert await refused(client.render(RenderRequest(text="a"))) == (503, "no_policy")
            waits = nothing.model_copy(update={"run_id": "r"})
            assert await refused(client.generate(waits)) == (409, "stale_policy")
            assert (await client.policy()).version == -1
            publish(settings, tiny, 1)
            await client.load(WeightsRequest(run_id="r", version=1, path="r/weights/1"))
            for fields, expected in {
                (("run_id", "other"),): (409, "wrong_policy"),
                (("min_policy_version", 2),): (409, "stale_policy"),
                (("prompt", None),): (422, "invalid_request"),
                (("prompt_ids", (5,)),): (422, "invalid_request"),
                (("prompt", ""),): (422, "bad_prompt"),
                (("prompt", None), ("prompt_ids", (5, 99))): (422, "bad_prompt"),
                (("max_new_tokens", 2048),): (422, "bad_prompt"),
            }.items():
                request = nothing.model_copy(update={"run_id": "r", **dict(fields)})
                assert await refused(client.generate(request)) == expected, fields
            unknown = await client.http.post("/v1/generate", json={"prompt": "a", "colour": 1})
            assert unknown.status_code == 422
            slow = GenerateRequest(prompt="a" * 900, max_new_tokens=1000, timeout_s=0.05)
            assert await refused(client.generate(slow)) == (504, "timeout")

    asyncio.run(main())


def test_weights_by_hand_stay_inside_the_runs_root(
    sampler: Sampler, settings: Settings, tiny: Path, tmp_path: Path
) -> None:
    async def main() -> None:
        publish(settings, tiny, 1)
        outside = Settings(runs_dir=tmp_path / "elsewhere")
        publish(outside, tiny, 1)
        (settings.runs_dir / "link").symlink_to(outside.runs_dir / "r", target_is_directory=True)
        async with client_of(sampler, settings) as client:

            async def load(path: str, version: int = 1) -> tuple[int, str]:
                return await refused(
                    client.load(WeightsRequest(run_id="r", version=version, path=path))
                )

            for path in (
                "../elsewhere/r/weights/1",
                str(settings.runs_dir / "r" / "weights" / "1"),
                "link/weights/1",
                "r/../../elsewhere/r/weights/1",
            ):
                assert await load(path) == (422, "path_refused")
            assert await load("r/weights/1", version=2) == (409, "weights_refused")
            assert await load("r/weights/7") == (409, "weights_refused")
            assert await load("r/weights/\0") == (422, "path_refused")
            (settings.runs_dir / "r" / "weights" / "1" / "STABLE").unlink()
            assert await load("r/weights/1") == (409, "weights_refused")
            assert (await client.policy()).version == -1

    asyncio.run(main())


def test_a_request_waits_for_a_policy_that_is_new_enough(
    sampler: Sampler, settings: Settings, tiny: Path
) -> None:
    async def main() -> None:
        publish(settings, tiny, 1)
        publish(settings, tiny, 2)
        async with client_of(sampler, settings) as client:
            request = GenerateRequest(run_id="r", prompt="a", min_policy_version=2)
            waiting = asyncio.create_task(client.generate(request))
            await client.load(WeightsRequest(run_id="r", version=1, path="r/weights/1"))
            await asyncio.sleep(0.05)
            assert not waiting.done()
            await client.load(WeightsRequest(run_id="r", version=2, path="r/weights/2"))
            assert (await waiting).policy_version == 2

    asyncio.run(main())


def test_a_new_version_is_applied_between_batches(
    sampler: Sampler, settings: Settings, tiny: Path
) -> None:
    async def main() -> None:
        publish(settings, tiny, 1)
        new = publish(settings, tiny, 2)
        folder = settings.runs_dir / "r" / "weights"
        await sampler.load_version(folder / "1", "r", 1, None)
        begun = asyncio.Event()
        loop = asyncio.get_running_loop()
        long = asyncio.create_task(
            sampler.sample(
                GroupRequest((5, 6), 2, 120, 1.0, seed=1),
                on_token=lambda *_: loop.call_soon_threadsafe(begun.set),
            )
        )
        await begun.wait()
        load = asyncio.create_task(sampler.load_version(folder / "2", "r", 2, new))
        await asyncio.sleep(0)
        late = await sampler.sample(GroupRequest((5, 6), 2, 4, 1.0, seed=2))
        assert ((await long).policy.version, late.policy.version) == (1, 2)
        assert (await load).fingerprint == new

    asyncio.run(main())


def test_too_many_requests_are_told_to_come_back(settings: Settings, tiny: Path) -> None:
    async def main() -> None:
        sampler = Sampler(LocalEngine(compute_dtype="float32"), max_waiting=2, window_s=1.0)
        sampler.start()
        await sampler.load_model(tiny, TINY)
        async with client_of(sampler, settings) as client:
            asks = [client.generate(GenerateRequest(prompt="a", seed=s)) for s in range(5)]
            replies = await asyncio.gather(*asks, return_exceptions=True)
            errors = [r for r in replies if isinstance(r, ServiceError)]
            assert [(e.status, e.code) for e in errors] == [(429, "overloaded")] * 3
            assert len(replies) - len(errors) == 2
        sampler.stop()
        with pytest.raises(SamplerError, match="being stopped"):
            await sampler.sample(GroupRequest((5,), 1, 1, 1.0))

    asyncio.run(main())


def test_stopping_answers_everybody(tiny: Path) -> None:
    async def main() -> None:
        sampler = Sampler(LocalEngine(compute_dtype="float32"), window_s=0.0)
        sampler.start()
        await sampler.load_model(tiny, TINY)
        begun = asyncio.Event()
        loop = asyncio.get_running_loop()
        asks = [
            asyncio.create_task(
                sampler.sample(
                    GroupRequest((5, 6), 64, 1500, 1.0, seed=s),
                    on_token=lambda *_: loop.call_soon_threadsafe(begun.set),
                )
            )
            for s in range(3)
        ]
        await begun.wait()
        await asyncio.to_thread(sampler.stop)
        replies = await asyncio.gather(*asks, return_exceptions=True)
        assert [getattr(reply, "code", None) for reply in replies] == ["stopping"] * 3

    asyncio.run(main())


def test_a_request_that_nobody_waits_for_leaves_the_batch(sampler: Sampler, tiny: Path) -> None:
    async def main() -> None:
        await sampler.load_model(tiny, TINY)
        begun = asyncio.Event()
        loop = asyncio.get_running_loop()
        endless = asyncio.create_task(
            sampler.sample(
                GroupRequest((5, 6), 64, 2000, 1.0),
                on_token=lambda *_: loop.call_soon_threadsafe(begun.set),
            )
        )
        await begun.wait()
        endless.cancel()
        policy = await sampler.load_model(tiny, "again")
        assert policy.model == "again"

    asyncio.run(main())


def test_a_broken_engine_answers_500_and_lives_on(
    sampler: Sampler, settings: Settings, tiny: Path
) -> None:
    async def main() -> None:
        await sampler.load_model(tiny, TINY)
        engine = sampler.engine
        assert isinstance(engine, LocalEngine)
        assert engine.model is not None
        whole = engine.model.model.norm.weight.data.clone()
        engine.model.model.norm.weight.data.fill_(float("nan"))
        async with client_of(sampler, settings) as client:
            request = GenerateRequest(prompt="a")
            assert await refused(client.generate(request)) == (500, "engine")
            engine.model.model.norm.weight.data.copy_(whole)
            assert (await client.generate(request)).policy_version == 0

    asyncio.run(main())


OPENAI: list[tuple[str, dict[str, Any], Callable[[dict[str, Any]], str]]] = [
    (
        "/v1/chat/completions",
        {"messages": [{"role": "user", "content": "hi"}]},
        lambda choice: choice["message"]["content"],
    ),
    ("/v1/completions", {"prompt": "hi"}, lambda choice: choice["text"]),
]


@pytest.mark.parametrize(("path", "body", "text_of"), OPENAI)
def test_openai_routes(
    path: str,
    body: dict[str, Any],
    text_of: Callable[[dict[str, Any]], str],
    sampler: Sampler,
    settings: Settings,
    tiny: Path,
) -> None:
    async def main() -> None:
        async with client_of(sampler, settings) as client:
            assert (await client.http.get("/v1/models")).json()["data"] == []
            assert (await client.http.post(path, json=body)).status_code == 503
            await sampler.load_model(tiny, TINY)
            assert (await client.http.get("/v1/models")).json()["data"][0]["id"] == TINY
            asked = {**body, "n": 2, "max_tokens": 12, "seed": 5, "model": "anything"}
            reply = (await client.http.post(path, json=asked)).json()
            assert [choice["index"] for choice in reply["choices"]] == [0, 1]
            assert reply["usage"]["completion_tokens"] == 24
            assert reply["choices"][0]["finish_reason"] == "length"
            text = text_of(reply["choices"][0])
            assert 8 <= len(text) <= 12
            stopped = {**asked, "stop": text[5:7]}
            again = (await client.http.post(path, json=stopped)).json()["choices"][0]
            assert text_of(again) == text[: text.index(text[5:7])]
            assert again["finish_reason"] == "stop"
            free = [(await client.http.post(path, json=body)).json() for _ in range(2)]
            assert text_of(free[0]["choices"][0]) != text_of(free[1]["choices"][0])
            for wrong in ({"presence_penalty": 1.0}, {"logprobs": True}, {"colour": 1}, {"n": 0}):
                assert (await client.http.post(path, json=body | wrong)).status_code == 422

    asyncio.run(main())


@pytest.mark.parametrize(("path", "body", "text_of"), OPENAI)
def test_streams_say_the_same_as_whole_answers(
    path: str,
    body: dict[str, Any],
    text_of: Callable[[dict[str, Any]], str],
    sampler: Sampler,
    settings: Settings,
    tiny: Path,
) -> None:
    def piece_of(choice: dict[str, Any]) -> str:
        return str(choice["delta"]["content"] if "delta" in choice else choice["text"])

    async def main() -> None:
        await sampler.load_model(tiny, TINY)
        async with client_of(sampler, settings) as client:
            whole = {**body, "n": 2, "max_tokens": 20, "seed": 5}
            text = text_of((await client.http.post(path, json=whole)).json()["choices"][0])
            whole["stop"] = [text[9:12], "never said"]
            choices = (await client.http.post(path, json=whole)).json()["choices"]
            reply = await client.http.post(path, json={**whole, "stream": True})
            assert reply.headers["content-type"].startswith("text/event-stream")
            *events, end = [line[6:] for line in reply.text.split("\n\n") if line]
            assert end == "[DONE]"
            pieces = [json.loads(event)["choices"][0] for event in events]
            assert len(pieces) > 4
            for index, choice in enumerate(choices):
                mine = [piece for piece in pieces if piece["index"] == index]
                assert "".join(map(piece_of, mine)) == text_of(choice)
                assert mine[-1]["finish_reason"] == choice["finish_reason"]
                assert {piece["finish_reason"] for piece in mine[:-1]} <= {None}
            too_long = await client.http.post(
                path, json={**whole, "stream": True, "max_tokens": 9999}
            )
            assert too_long.json()["error"]["code"] == "bad_prompt"

    asyncio.run(main())


def test_the_client_can_chat(sampler: Sampler, settings: Settings, tiny: Path) -> None:
    async def main() -> None:
        await sampler.load_model(tiny, TINY)
        async with client_of(sampler, settings) as client:
            assert len(await client.chat(USER, temperature=0.0, max_tokens=5)) == 5

    asyncio.run(main())


def test_alone_says_what_it_waits_for(sampler: Sampler, settings: Settings, tmp_path: Path) -> None:
    async def main() -> None:
        alone = Alone(sampler, TINY, tmp_path)
        app = create_app(sampler, settings, alone)
        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(transport=transport, base_url="http://g") as http:
            early = await http.get("/ready")
            assert early.status_code == 503
            assert "being loaded" in early.text
            await alone.run()
            assert (await http.get("/ready")).status_code == 200
            assert (await http.get("/v1/policy")).json()["run_id"] is None
            assert "cohort_generator_version 0.0" in (await http.get("/metrics")).text
        nowhere = Alone(sampler, str(tmp_path / "nowhere"), tmp_path)
        await nowhere.run()
        assert "does not exist" in nowhere.missing()[0]

    asyncio.run(main())
