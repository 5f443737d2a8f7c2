"""A generator that is frozen: its kernel still takes connections, and nothing ever answers."""

from typing import Any, cast

import pytest
import trio

from cohort.clients import AsyncGeneratorClient
from cohort.contracts.generator import GenerateRequest
from cohort.transport import Unreachable
from services.rollout import generators
from services.rollout.generators import Generators


class Slow:
    """Answers after `seconds`; /health at once, unless it is frozen."""

    def __init__(self, seconds: float, *, frozen: bool) -> None:
        self.seconds, self.frozen = seconds, frozen

    async def generate(self, request: GenerateRequest) -> str:
        await trio.sleep(self.seconds)
        return "the answer"

    async def health(self) -> bool:
        await trio.sleep(self.seconds if self.frozen else 0.0)
        return True


async def ask(client: Slow) -> Any:
    def connect(_: str) -> AsyncGeneratorClient:
        return cast(AsyncGeneratorClient, client)

    offered = Generators("http://generator", connect)
    replies: list[Any] = []
    async with trio.open_nursery() as nursery:
        nursery.start_soon(offered.watch)
        try:
            replies.append(await offered.generate(GenerateRequest(prompt="1 + 1 =")))
        except Unreachable as error:
            replies.append(error)
        nursery.cancel_scope.cancel()
    return replies[0]


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(generators, "WATCH_S", 0.02)
    monkeypatch.setattr(generators, "SILENCE_S", 0.1)


def test_a_frozen_generator_is_unreachable_long_before_the_call_times_out() -> None:
    error = trio.run(ask, Slow(300.0, frozen=True))
    assert isinstance(error, Unreachable)
    assert "it has not answered /health for 0.1 s" in str(error)


def test_a_generator_may_take_its_time_while_it_lives() -> None:
    assert trio.run(ask, Slow(0.4, frozen=False)) == "the answer"
