"""Builders for the tests of the policy; torch is imported only where they are used."""

import random
import socket
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
import uvicorn
from fastapi import FastAPI

from cohort.config import RunConfig
from cohort.contracts.queue import GroupCompletion, GroupMessage
from cohort.contracts.reward import ScoreResult

SaveModel = Callable[..., Path]
MakeGroup = Callable[[int, Sequence[float | None]], GroupMessage]
MakeConfig = Callable[..., RunConfig]
Serve = Callable[[FastAPI], str]


@pytest.fixture(scope="session")
def save_model() -> SaveModel:
    """Write a small random Llama (vocabulary 40) into a folder; changes override its config."""

    def save(folder: Path, **changes: object) -> Path:
        import torch
        from transformers import LlamaConfig, LlamaForCausalLM

        torch.manual_seed(0)
        shape: dict[str, Any] = {
            "vocab_size": 40, "hidden_size": 16, "intermediate_size": 24, "num_hidden_layers": 2,
            "num_attention_heads": 4, "num_key_value_heads": 2, "tie_word_embeddings": True,
            "initializer_range": 0.3,
        }  # fmt: skip
        LlamaForCausalLM(LlamaConfig(**shape | changes)).save_pretrained(folder)
        return folder

    return save


@pytest.fixture(scope="session")
def make_group() -> MakeGroup:
    """A group of random tokens, one completion per reward; the same number gives the same group."""

    def make(number: int, rewards: Sequence[float | None]) -> GroupMessage:
        draw = random.Random(number)
        prompt = tuple(draw.randrange(40) for _ in range(draw.randint(1, 6)))
        completions = []
        for reward in rewards:
            length = draw.randint(1, 5)
            completions.append(
                GroupCompletion(
                    prompt_ids=prompt,
                    ids=tuple(draw.randrange(40) for _ in range(length)),
                    logprobs=tuple(draw.uniform(-5, -2) for _ in range(length)),
                    loss_mask=(1,) * length,
                    offsets=(0,) * length,
                    version_spans=(),
                    finish_reason="stop",
                    text="",
                    result=ScoreResult(
                        score=reward, status="infra_error" if reward is None else "scored"
                    ),
                )
            )
        return GroupMessage(
            run_id="r", group_id=str(number), step=1, purpose="train", status="ok",
            completions=tuple(completions),
        )  # fmt: skip

    return make


@pytest.fixture(scope="session")
def make_config() -> MakeConfig:
    """A run config in float32; each argument adds to a section of it."""

    def make(**parts: Any) -> RunConfig:
        base: dict[str, Any] = {
            "model": {"path": "tiny"},
            "task": {"name": "arithmetic"},
            "rewards": [{"verifier": "math"}],
            "steps": 4,
            "algorithm": {"group_size": 2, "kl": {"beta": 0.0}},
            "learner": {"compute_dtype": "float32"},
            "optimizer": {"lr": 1e-2},
        }
        return RunConfig.from_dict(base | {k: base.get(k, {}) | v for k, v in parts.items()})

    return make


@pytest.fixture
def serve() -> Iterator[Serve]:
    """Run an app on a loopback port that the kernel chose; gives its address."""
    running: list[tuple[uvicorn.Server, threading.Thread]] = []

    def start(app: FastAPI) -> str:
        listener = socket.create_server(("127.0.0.1", 0))
        server = uvicorn.Server(uvicorn.Config(app, log_config=None, lifespan="off"))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        running.append((server, thread))
        while not server.started:
            time.sleep(0.01)
        return f"http://127.0.0.1:{listener.getsockname()[1]}"

    yield start
    for server, thread in running:
        server.should_exit = server.force_exit = True
        thread.join()
