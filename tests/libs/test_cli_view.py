"""How events look: lines for files, a bar for terminals."""

from typing import Any, Literal

import pytest

from cohort.cli.view import event_line, view_of
from cohort.contracts.trainer import RunEvent

ROW = {
    "step": 2,
    "reward": 0.5,
    "accuracy": 0.25,
    "zero_signal": None,
    "tokens_per_s": 99.6,
    "seconds": {"step": 3.25},
}


def event(kind: Literal["state", "step", "eval", "waiting", "log"], **data: Any) -> RunEvent:
    return RunEvent(id=1, type=kind, time=0.0, data=data)


@pytest.mark.parametrize(
    ("shown", "line"),
    [
        (
            event("step", **ROW),
            "step 2/4  reward 0.500  accuracy 25.0 %  zero-signal -  100 tokens/s  3.2 s",
        ),
        (
            event("eval", version=2, accuracy=0.75, num_questions=64),
            "held-out accuracy of version 2: 75.0 % of 64 questions",
        ),
        (event("state", state="failed", reason="no disk"), "state: failed: no disk"),
        (event("state", state="running", reason=None), "state: running"),
        (event("waiting", **{"for": "the generator"}), "waiting for the generator"),
        (event("waiting", **{"for": None}), None),
        (event("log", message="Resumed."), "Resumed."),
    ],
)
def test_an_event_is_a_line(shown: RunEvent, line: str | None) -> None:
    assert event_line(shown, 4) == line


@pytest.mark.parametrize("bar", [True, False])
def test_both_views_show_metrics_and_what_else_happens(
    bar: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    with view_of(4, bar=bar) as view:
        view.show(event("state", state="running"))
        view.show(event("step", **ROW))
        view.note("something else")
    out = capsys.readouterr().out
    for words in ("state: running", "reward 0.500  accuracy 25.0 %", "something else", "2/4"):
        assert words in out
