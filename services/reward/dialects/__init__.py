"""Other systems' reward protocols, spoken by this service: a row a route, a small file a system.

    their request --ask--> ScoreRequest --> grader --> ScoreResult... --answer--> their reply

Both functions are pure. What a dialect cannot say (it has no word for "not scored") becomes an HTTP
status, by the row's `refuse`: trouble of ours is never a number. Every route also exists below
`/key/{key}/`, for trainers that cannot send a header; logs show `/key/***`.
"""

from typing import Any

from fastapi import FastAPI

from services.reward.dialects import (
    nemo_gym,
    open_instruct,
    openrlhf,
    pipelinerl,
    skypilot,
    slime,
    verl,
)
from services.reward.dialects.base import Dialect, DialectSettings, Scorer, add_dialect

DIALECTS: tuple[Dialect[Any], ...] = (
    openrlhf.GET_REWARD,
    slime.COMPAT,
    verl.CLASSIFY,
    verl.EMBEDDINGS,
    pipelinerl.VERIFY_ANSWER,
    nemo_gym.SEED_SESSION,
    nemo_gym.VERIFY,
    open_instruct.TEST_PROGRAM,
    open_instruct.TEST_PROGRAM_STDIO,
    skypilot.BATCH_REWARD,
)


def add_dialects(app: FastAPI, grader: Scorer, settings: DialectSettings) -> None:
    """Add every dialect's route to the app."""
    for dialect in DIALECTS:
        add_dialect(app, dialect, grader, settings)
