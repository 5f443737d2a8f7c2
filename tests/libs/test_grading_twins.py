"""The C++ grader and its Python twin agree on any text."""

from hypothesis import example, given, settings
from hypothesis import strategies as st

from cohort import grading
from cohort.grading import reference
from cohort.grading.reference import words

# What answers are made of, the signs of LaTeX and markdown included.
ASCII = r"""
#### ;\boxed{;\fbox{;answer is ;Answer: ;aNSWER;A:;is ;The ;</think>;<think>;</answer>;<|im_end|>;
{;};(;);[;];$;\$;**;__;*;_;`;';";\;\\;0;1;2;12;345;000;999999999999999999;5e8;E-3;3.50;2 1/4;
12 + 33 = ;x;,;.; ;  ;:;=;?;!;-;+;/;<;>;~;|;^;^{2};_{8};\frac;\dfrac{1}{2};{3}{-6};\times 10^{3};
\cdot;10^4;%;\%;percent;\text{;\mathrm {;\color{red};{,};\,;\!;\left(;^\circ;{\circ};cm;m;s;
square feet;km/h; per hour; million;CO2; dollars; a day; or ; squared;Yes;No;AB;in"""
# And what Unicode also calls signs, digits, letters and spaces.
UNICODE = (
    "\n\t\r\0\x1c\x85\xa0\u200b\u2028\u3002\u2212\u2013\xb0\xb2\xbd\xd7\xf7\xa3\xc9\u7b54\U0001f600"
    "\uff13\uff0d\u0661\u0131\u017f\u212a"
)
FRAGMENTS = [*ASCII.replace("\n", "").split(";"), *UNICODE, ";"]
math_text = st.lists(st.sampled_from(FRAGMENTS), max_size=14).map("".join)
texts = st.text() | math_text


@settings(max_examples=600)
@given(texts)
@example("9" * 5000)
@example("\u00e9" * 4097)
@example("{" * 70 + "7" + "}" * 70)
def test_twins_extract_and_normalize_alike(text: str) -> None:
    found = grading.extract_answer(text)
    assert found == reference.extract_answer(text)
    if found is not None:
        assert found.answer == text[found.start : found.end] != ""
    assert grading.normalize_answer(text) == reference.normalize_answer(text)


@settings(max_examples=600)
@given(texts, texts)
def test_twins_grade_alike(completion: str, truth: str) -> None:
    assert grading.answers_equal(completion, truth) == reference.answers_equal(completion, truth)
    verdict = grading.grade_math(completion, truth)
    assert verdict == reference.grade_math(completion, truth)
    assert grading.grade_math_batch([completion], (truth,)) == [verdict]


def test_twins_know_the_same_words() -> None:
    forms = {*words.UNITS, *words.MATH_WORDS, *words.SHORT_WORDS, *words.SCALES, *words.LONE_UNITS}
    answers = [
        *(
            f"5{shape}" % form
            for form in forms
            for shape in (" %s", "%s", "\\text{ %s}", " %s a day")
        ),
        *(f"5 km per {form}" for form in forms),
        *(f"\\{name}{{5}}" for name in (*words.WRAPPERS, "sqrt")),
        *(f"5\\{name} kg" for name in words.LOOSE_COMMANDS),
    ]
    for answer in answers:
        assert grading.normalize_answer(answer) == reference.normalize_answer(answer), answer
