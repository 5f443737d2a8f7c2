"""Which option a completion commits to; ids like v068 are of public cases of other graders."""

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.reward.verifiers.base import Answer
from services.reward.verifiers.commitment import MAX_CHARS
from services.reward.verifiers.multiple_choice import MultipleChoiceVerifier

OPTIONS = ["a virus", "a gene", "none of the above"]


def judge(completion, truth, **kwargs):
    verifier = MultipleChoiceVerifier()
    outcomes = [None]
    anyio.run(verifier.score, [Answer(completion, truth)], verifier.params(**kwargs), outcomes)
    return outcomes[0]


@pytest.mark.parametrize(
    ("completion", "letter"),
    [
        ("\\boxed{A}", "A"),  # v068, huggingface/Math-Verify#16
        ("So the answer is B", "B"),  # v069, huggingface/open-r1#56
        ("\\boxed{E: a polygenic risk score}", "E"),  # v141, NVIDIA-NeMo/Gym#1844
        # v142, NVIDIA-NeMo/Gym#1844
        ("I first thought \\boxed{C}, but the evidence points to \\boxed{E}", "E"),
        ("The answer is C. 12", "C"),  # v470
        ("\\boxed{D}", "D"),  # v471
        ("The answer is B, not A.", "B"),  # v472
        ("A quick look shows the answer is D.", "D"),  # v475
        ("\\boxed{\\text{(B)}}", "B"),
        ("\\boxed{\\textbf{B}}", "B"),
        ("$\\boxed{\\mathrm{B}}$", "B"),
        ("\\boxed{b}", "B"),
        ("The answer is (B).", "B"),
        ("The correct answer is option B.", "B"),
        ("The answer is: b", "B"),
        ("Answer: B.", "B"),
        ("**Answer:** B", "B"),
        ("**Answer: B**", "B"),
        ("Final answer:\n\n**D**", "D"),
        ("So it is\n**B**", "B"),
        ("<answer>B</answer>", "B"),
        ("<answer> (b) </answer>", "B"),
        ("B", "B"),
        ("b", "B"),
        ("(b)", "B"),
        ("B.", "B"),
        ("B) green", "B"),
        ("B, not A", "B"),
        ("It says so on the label.\nB", "B"),
        ("B is correct.", "B"),
        ("(B) is the best of them.", "B"),
        ("The best choice is (A).", "A"),
        ("The answer is A because B is too large.", "A"),
        ("The answer is not A but B.", "B"),
        ("The answer is B rather than A.", "B"),
        ("答案是B。", "B"),
        ("答案：Ｂ", "B"),
        ("因此选项为 C", "C"),
        ("故选：C", "C"),
        ("The answer is B. So \\boxed{B}.", "B"),
        ("The answer should be B.", "B"),
        ("If the answer is A, it would sink. The answer is B.", "B"),
        ("What is the answer: A, B, C or D? The answer is C.", "C"),
        ("The answer is A. Wait, no. The answer is B.", "B"),
        ("The answer is A... \\boxed{B}", "B"),
        ("The answer is A.\nFinal answer: B", "B"),
        ("<think>\\boxed{A}</think>\\boxed{B}", "B"),
        ("<answer>B</answer> The answer is B.", "B"),
    ],
)
def test_the_option_that_is_chosen(completion, letter):
    for truth in "ABCDE":
        outcome = judge(completion, truth)
        assert outcome.verdict == ("correct" if truth == letter else "wrong")
        assert outcome.value == float(truth == letter)


@pytest.mark.parametrize(
    "completion",
    [
        "<answer>A or B or C</answer>",  # v135, Liuziyu77/Visual-RFT#79
        "A or B or C",
        "\\boxed{A, B}",
        "\\boxed{A \\text{ or } B}",
        "\\boxed{A} \\boxed{B}",
        "\\boxed{A} and \\boxed{B}",
        "The answer is A. The answer is B.",
        "The answer is either A or B.",
        "The answer is A/B.",
        "<answer>A</answer><answer>B</answer>",
        "\\boxed{B} The answer is A.",
        "**A** **B**",
    ],
)
def test_several_options_side_by_side_earn_nothing(completion):
    for truth in "ABC":
        outcome = judge(completion, truth)
        assert (outcome.value, outcome.verdict) == (0.0, "ambiguous")


@pytest.mark.parametrize(
    "completion",
    [
        "",
        "The answer is not B",
        "The answer isn't B.",
        "The answer is neither A nor B.",
        "I don't think the answer is B.",
        "I am not sure whether the answer is B.",
        "Could it be that the answer is B?",
        "The answer is B. Scratch that.",
        "The answer is B. No, that's wrong.",
        "A good question is hard to answer.",
        "The answer is a good one.",
        "The answer is beyond me",
        "Answer: F",
        "The answer is 12.",
        "A) red\nB) green\nC) blue",
        "<think>The answer is B.",
        "<think>\\boxed{B}</think>",
        "The answer is \\boxed{B",
        "<answer>B",
        "\\boxed{}",
        "Because",
    ],
)
def test_no_option_is_chosen(completion):
    for truth in "ABCDE":
        outcome = judge(completion, truth)
        assert (outcome.value, outcome.verdict) == (0.0, "no_answer")


@pytest.mark.parametrize(
    ("completion", "verdict"),
    [
        ("The answer is a gene.", "correct"),
        ("\\boxed{\\text{A gene}}", "correct"),
        ("A Gene", "correct"),
        ("B. a gene", "correct"),
        ("The answer is B.", "correct"),
        ("The answer is a virus", "wrong"),
        ("The answer is none of the above.", "wrong"),
        ("<answer>None of the above</answer>", "wrong"),
        ("B. a virus", "ambiguous"),
        ("The answer is a genealogy", "no_answer"),
        ("The answer is D", "no_answer"),
    ],
)
def test_the_text_of_an_option_is_its_letter(completion, verdict):
    assert judge(completion, "B", options=OPTIONS).verdict == verdict
    assert judge(completion, "a gene", options=OPTIONS).verdict == verdict
    truth = {"answer": "B", "options": OPTIONS}
    assert judge(completion, truth).verdict == verdict


@pytest.mark.parametrize("truth", ["B", "b", "(B)", "B.", " B ", "\\boxed{B}", "B) green"])
def test_a_truth_may_be_written_as_people_do(truth):
    assert judge("The answer is B", truth).value == 1.0


@pytest.mark.parametrize(
    "truth",
    [
        None,
        "",
        True,
        3,
        "F",
        "A or B",
        "green",
        ["B"],
        {"answer": "D", "options": OPTIONS},
        {"answer": "B", "options": ["one"]},
        {"answer": "B", "options": ["same", "Same."]},
        {"answer": "B", "options": ["x", 1]},
        {"answer": "B", "options": "xy"},
        {"options": OPTIONS},
        {"answer": "B", "options": [str(i) for i in range(27)]},
    ],
)
def test_a_truth_that_is_none_of_the_choices_is_unscorable(truth):
    outcome = judge("The answer is B", truth)
    assert (outcome.value, outcome.status) == (None, "unscorable")
    assert outcome.verdict == "unparsable_gold"


def test_more_letters_by_parameter_or_by_the_options():
    assert judge("The answer is J", "J", choices="ABCDEFGHIJ").verdict == "correct"
    assert judge("The answer is J", "A").verdict == "no_answer"
    many = {"answer": "H", "options": [f"choice number {i}" for i in range(10)]}
    assert judge("The answer is choice number 7.", many).verdict == "correct"
    assert judge("The answer is H.", many).verdict == "correct"


@pytest.mark.parametrize(
    "kwargs",
    [
        {"choices": "AAB"},
        {"choices": "abc"},
        {"choices": "A"},
        {"choices": "A,B"},
        {"options": ["x"]},
        {"options": ["x", "X"]},
        {"options": ["x"] * 27},
    ],
)
def test_odd_parameters_are_refused(kwargs):
    with pytest.raises(ValueError, match=next(iter(kwargs))):
        MultipleChoiceVerifier.params(**kwargs)


PIECES = [
    "A",
    "B",
    "(C)",
    "\\boxed{",
    "}",
    "answer is ",
    "Answer: ",
    "not ",
    " or ",
    "**",
    ". ",
    "\n",
    "<answer>",
    "</answer>",
    "wait ",
    "</think>",
    "?",
    "是",
    "\\text{",
]


@given(st.lists(st.sampled_from(PIECES), max_size=24))
def test_at_most_one_truth_is_right_for_any_completion(pieces):
    outcomes = [judge("".join(pieces), truth) for truth in "ABCDE"]
    assert sum(outcome.value for outcome in outcomes) in (0.0, 1.0)
    if any(outcome.value for outcome in outcomes):
        assert {outcome.verdict for outcome in outcomes} == {"correct", "wrong"}
    else:
        assert len({outcome.verdict for outcome in outcomes}) == 1


@given(st.text(max_size=200))
def test_any_text_can_be_judged(text):
    assert judge(text, "A", options=OPTIONS).status == "scored"


@pytest.mark.parametrize(
    "piece",
    ["answer:", "answer: A ", "!", "\\boxed{", "**A**", "A,", "A or ", "<answer>", "(A) is "],
)
def test_only_the_end_of_a_long_text_is_read(piece):
    text = piece * (1_000_000 // len(piece))
    assert judge(text + " \nThe answer is B.", "B").status == "scored"
    late = "The answer is A. " + " " * MAX_CHARS + "\nThe answer is B."
    assert judge(late, "B").verdict == "correct"
