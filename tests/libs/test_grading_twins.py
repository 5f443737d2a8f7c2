"""The C++ extraction and normal form agree with their Python twins on any text."""

from hypothesis import example, given, settings
from hypothesis import strategies as st

from cohort import grading
from cohort.grading import reference
from cohort.grading.reference import boxes, commitment, number_words, statement, words

# What completions are made of, the signs of LaTeX and markdown included.
MARKS = r"""
#### ;\boxed{;\boxed;\boxed ;\fbox{;\boxed{42};\boxed{43}, ; and \boxed{44};answer is ;Answer: ;
aNSWER;answers are;answer to the question is; is the final answer;The ;## Final Answer;A:;<answer>;
</answer>;</think>;<think>;<|im_end|>;</s>;Wait, that is wrong. ;I made a mistake. ;actually ;
maybe; perhaps ;could be ;Another ;possible answer is ; or ; and ; if ; otherwise; when n ; not ;
 isn't ; because ;, so ;, not ; so ;therefore ;option ;is ;was ;costs ;I do not know. ;
could not solve;She """
ANSWERS = r"""
{;};(;);[;];$;$$;\$;\[;\];\(;\);**;__;*;_;`;';";\;\\;0;1;2;12;345;000;999999999999999999;5e8;E-3;.5;
3.50;2 1/4;3/4;12 + 33 = ;x=; = ;x;n;f(x);2x;x^2;,;.; ;. ;:;=;?;!;-;+;/;<;<<;>>;>;~;|;^;^{2};_{8};
\frac;\dfrac{1}{2};{3}{-6};\sqrt{17};sqrt;sin ;pi;\times 10^{3};\cdot;10^4;%;\%;percent;\text{;
\mathrm {;\quad;\color{red};{,};\,;\!;\left(;^\circ;{\circ};cm;m;s;5kg;5th;square feet;km/h;
 per hour; million;CO2; dollars;\euro;\pounds ;/hour; red apples; each; north;
 a day; squared;Yes;No;AB;B;(C);in;Evelyn;twelve;twenty;-one;
 hundred; and five; thousand;halves"""
# And what Unicode also calls signs, digits, letters and spaces; Chinese for answer, is, so choose,
# not, not right, wrong, and, or.
UNICODE = (
    "\n\t\r\0\x1c\x85\xa0\u200b\u2028\u3002\u2212\u2013\xb0\xb2\xbd\xd7\xf7\xa2\xa3\u20ac\xc9"
    "\U0001f600\u03c0\uff13\uff0d\uff1a\uff1f\uff01\uff0c\u3001\u0661\u0131\u0130\u017f\u212a\u2019\u221a\u2264"
)
CHINESE = ["\u7b54\u6848", "\u662f", "\u6545\u9009", "\u4e0d\u5bf9", "\u9519\u4e86", "\u548c\u6216"]
FRAGMENTS = [*(MARKS + ";" + ANSWERS).replace("\n", "").split(";"), *UNICODE, *CHINESE, ";", "\n\n"]
marked_text = st.lists(st.sampled_from(FRAGMENTS), max_size=30).map("".join)
# Windows end somewhere: long runs of one fragment reach them.
long_text = st.lists(
    st.tuples(st.sampled_from(FRAGMENTS), st.integers(1, 150)).map(lambda part: part[0] * part[1]),
    max_size=6,
).map("".join)
texts = st.text() | marked_text | long_text


@settings(max_examples=1500)
@given(texts)
@example("9" * 5000)
@example("\u00e9" * 4097)
@example("{" * 70 + "7" + "}" * 70)
@example("\\boxed{" + "\u00e9" * 8184 + "}")
@example("\\boxed{" + "\u00e9" * 8192 + "}")
@example("<answer>" + "\u7b54" * 4096 + "7")
def test_twins_extract_and_normalize_alike(text: str) -> None:
    found = grading.extract_answer(text)
    assert found == reference.extract_answer(text)
    if found is not None:
        assert 0 <= found.start < found.end <= len(text)
        is_list = found.answer != text[found.start : found.end]
        assert not is_list or ", " in found.answer
    assert grading.normalize_answer(text) == reference.normalize_answer(text)


@settings(max_examples=600)
@given(texts, texts)
def test_what_the_twin_calls_right_is_right(completion: str, truth: str) -> None:
    by_twin = reference.grade_math(completion, truth)
    verdict = grading.grade_math(completion, truth)
    if by_twin in ("correct", "ambiguous"):
        assert verdict == by_twin
    assert grading.grade_math_batch([completion], (truth,)) == [verdict]


def test_twins_know_the_same_words() -> None:
    forms = {
        *(*words.UNITS, *words.MATH_WORDS, *words.SHORT_WORDS, *words.SCALES, *words.LONE_UNITS),
        *number_words.NUMBER_WORDS,
    }
    answers = [
        *(
            f"5{shape}" % form
            for form in forms
            for shape in (" %s", "%s", "\\text{ %s}", " %s a day")
        ),
        *(f"5 km per {form}" for form in forms),
        *(f"\\{name}{{5}}" for name in (*words.WRAPPERS, "sqrt")),
        *(f"5\\{name} kg" for name in words.LOOSE_COMMANDS),
        *(f"twenty {form}" for form in number_words.NUMBER_WORDS),
        *number_words.NUMBER_WORDS,
    ]
    for answer in answers:
        assert grading.normalize_answer(answer) == reference.normalize_answer(answer), answer


def test_twins_know_the_same_phrases() -> None:
    phrases = {
        *commitment.HEDGES,
        *commitment.CONDITIONS,
        *commitment.ALTERNATIVES,
        *commitment.CORRECTIONS,
        *commitment.CONCLUSIONS,
        *commitment.RETRACTIONS,
        *commitment.AFTERTHOUGHTS,
        *boxes.NEGATIONS,
        *statement.REFUSALS,
        *statement.NEGATIVE,
        *statement.DENIED,
        *statement.DANGLING,
        *statement.PARTITIVE,
    }
    shapes = [
        "%s \\boxed{42}",
        "\\boxed{42} %s it.",
        "\\boxed{42}. But %s it.",
        "\\boxed{41} %s \\boxed{42}",
        "\\boxed{41} of it, in a long sentence %s in all \\boxed{42}",
        "\\boxed{41}. Now %s. The answer is 42",
        "The answer is 42 %s",
        "I say %s. It is 42.",
        "It %s 42",
        "It is 42 %s.",
        "It is 42 %s",
        "Some %s 42 apples",
    ]
    for text in (shape % phrase for phrase in phrases for shape in shapes):
        assert grading.extract_answer(text) == reference.extract_answer(text), text
