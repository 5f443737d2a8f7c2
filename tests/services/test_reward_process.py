"""The process verifier: what counts, what does not, and what a policy cannot gain."""

import anyio
import pytest
from pydantic import ValidationError

from cohort.contracts.reward import RewardSpec, ScoreItem, ScoreRequest, ScoreResult
from services.reward.grader import Grader
from services.reward.verifiers.process import ProcessVerifier

TRUTH = "5 + 9 = 14\n14 + 7 = 21\n#### 21"


def score(completion: str, truth: object = TRUTH, **kwargs: object) -> ScoreResult:
    async def ask() -> ScoreResult:
        grader = Grader({"process": ProcessVerifier()})
        item = ScoreItem(completion=completion, ground_truth=truth)  # type: ignore[arg-type]
        spec = RewardSpec(verifier="process", kwargs=kwargs)  # type: ignore[arg-type]
        return (await grader.score(ScoreRequest(items=(item,), rewards=(spec,))))[0]

    return anyio.run(ask)


@pytest.mark.parametrize(
    ("completion", "value"),
    [
        (TRUTH, 1.0),
        ("5 + 9 = 14", 0.5),  # half of the way
        ("5 + 9 = 14\n14 + 7 = 22", 1 / 3),  # a false step and a milestone that was missed
        ("5 + 9 = 15\n15 + 7 = 22\n#### 22", 0.0),  # the second step is true but gets nowhere
        ("9 + 5 = 14, then 7 + 14 = 21.", 1.0),  # any order of the operands
        ("#### 21", 0.0),  # the answer alone is for `math`
        ("I do not know.", 0.0),
        ("", 0.0),
    ],
)
def test_a_solution_is_worth_the_milestones_it_reaches(completion: str, value: float) -> None:
    assert score(completion).score == pytest.approx(value)


def test_easy_steps_and_repeated_ones_gain_nothing() -> None:
    honest = score("5 + 9 = 14").score
    assert score("1 + 1 = 2\n" * 50 + "5 + 9 = 14").score == honest
    assert score("5 + 9 = 14\n" * 50).score == honest
    assert score("1 + 1 = 2\n" * 50).score == 0.0
    assert score("14 = 14\n21 = 21").score == 0.0  # no operator, no step


def test_steps_say_where_they_end_and_what_they_are_worth() -> None:
    text = "Sì: 5 + 9 = 14. So 14 + 7 = 20."
    result = score(text)
    assert [(text[: step.end].split()[-1], step.score) for step in result.steps] == [
        ("14", 1.0),
        ("20", 0.0),
    ]
    assert result.verdict == "steps_wrong"
    assert result.metrics["process.reached"] == 1.0


def test_false_steps_can_cost() -> None:
    assert score("5 + 9 = 15", false_step=-1.0).score == pytest.approx(-1 / 3)


@pytest.mark.parametrize(
    ("how", "value"), [("mean", 0.5), ("min", 0.0), ("product", 0.0), ("last", 0.0)]
)
def test_aggregations(how: str, value: float) -> None:
    assert score("5 + 9 = 14", aggregation=how).score == value


def test_gsm8k_solutions_are_worked_truths() -> None:
    truth = (
        "Natalia sold 48/2 = <<48/2=24>>24 clips in May.\n"
        "Altogether she sold 48+24 = <<48+24=72>>72 clips.\n#### 72"
    )
    assert score(truth, truth).score == 1.0
    assert score("In May: 48 / 2 = 24 clips. Then 48 + 24 = 68.", truth).score == pytest.approx(
        1 / 3
    )


def test_a_truth_without_steps_is_unscorable_unless_grounding_is_none() -> None:
    result = score("5 + 9 = 14", "21")
    assert (result.status, result.score) == ("unscorable", None)
    assert "worked solution" in (result.reason or "")
    assert score("5 + 9 = 14\n14 + 7 = 21", "21", grounding="none").score == 1.0
    assert score("5 + 9 = 14\n5 + 9 = 14", "21", grounding="none").score == 0.5
    assert score("5 + 9 = 14\n14 + 7 = 22", None, grounding="none").score == 0.5


def test_parameters_are_checked() -> None:
    with pytest.raises(ValidationError):
        ProcessVerifier.params(false_step=0.5)
