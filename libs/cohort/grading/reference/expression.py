"""The last expression of a sentence: the twin of `cpp/src/expression_end.cpp`.

Signs, numbers, LaTeX and letters that touch them belong together; words keep expressions apart.
Numbers that commas, `and` or `or` join are one list, so that none of them stands for all. What a
calculation results in comes before a plain number behind it (`6 * 7 = 42 dollars for 6 hours`).
"""

import re

from cohort.grading.reference.lines import Span, at
from cohort.grading.reference.normal_form import normal_form, same
from cohort.grading.reference.words import LONE_UNITS, UNITS, word_set

FUNCTIONS = word_set("sqrt sin cos tan cot csc log ln exp")
ORDINALS = word_set("st nd rd th")
VALUES = "\u03c0\u221a\u221e\u00bd\u00bc\u00be\u00b2\u00b3"
SIGNS = (
    "-+*/^_=<>|!()[]{}%$&~\u2212\u2013\u00d7\u00f7\u00b7\u2264\u2265\u2260\u222a\u2229\u00b1\u00b0"
)

_TOKEN = re.compile(
    r"(?P<sign>\\(?:text|mbox|mathrm) ?\{[^{}\\]*\}|\\[^A-Za-z])|(?P<command>\\[A-Za-z]+)"
    r"|(?P<other><<|>>|<\||</|\\)|(?P<number>\.?[0-9]+(?:[.,:][0-9]+)*)"
    r"|(?P<word>[A-Za-z][A-Za-z0-9']*)|(?P<space>[ \t\xa0]+)|(?P<comma>[,;])|(?P<any>.)",
    re.DOTALL,
)
_TIMES_BEFORE = re.compile("[0-9)%]")
DIGITS = "0123456789"
ALGEBRAIC = ("<", ">", "|", "_", "\u2264", "\u2265", "\u2260", "\u222a", "\u2229")
CLAUSES = word_set(", ; : so then is are was were has have had be get gets equals leaves leaving")
"""After a calculation they begin something that has a number of its own."""
DEFINITE = word_set("the these those both all his her its their my our your")
"""Before a number they say that it was known before."""
JOINTS = word_set("and or also alternatively")
OPENING = (CLAUSES - {",", ";"}) | {"because", "makes", "make", "gives", ">>", "\u2192"}
"""Between two values they make the second one the answer: `in 2020: 5`."""
_DIGIT = re.compile("[0-9]")
_REMARK = re.compile(r" \((?!mod|base|or )[^()]*[A-Za-z]{2} [^()]*\)\Z")
"""Words in brackets that a sentence ends in."""
_SCALE = re.compile(" (?:hundred|thousand|million|billion|trillion|dozen)(?![A-Za-z0-9])")
_UNIT = re.compile(r" ?([A-Za-z]+)(?![A-Za-z0-9'])(?:\^[23]|\^\{[23]\}|[\u00b2\u00b3])?")
_PER = re.compile(" ?/| per | an? ")
_LETTERS = re.compile("[A-Za-z]+")
_BEFORE = "=^_+*/<>([{-\u2212\u2264\u2265\u2260\u00d7\u00f7\u221a\u00b7"
_AFTER = "=^_+*/<>-\u2212\u2264\u2265\u2260\u00d7\u00f7\u00b7"
_NEXT_NUMBER = re.compile(r"[ $]*(?:and |or )?(?:[A-Za-z] ?= ?)?[-+\u2212]?[\\$]*[0-9\u221a\u03c0]")


class _Run:
    """Tokens that belong together."""

    def __init__(self) -> None:
        self.start = self.end = -1
        self.depth = 0
        self.has_value = self.has_equals = self.ends_in_value = False
        self.has_digit, self.is_arithmetic = False, True

    def add(self, token: re.Match[str], kind: str) -> None:
        sign = token[0]
        self.start = token.start() if self.start < 0 else self.start
        self.end = token.end()
        self.depth += (sign in "([{") - (sign in ")]}") if len(sign) == 1 else 0
        self.has_equals |= sign == "="
        self.has_digit |= sign[-1] in DIGITS
        self.is_arithmetic &= not _is_algebra(sign, kind)
        self.has_value |= kind == "value" or (kind == "letter" and self.has_equals)
        if kind != "join":
            self.ends_in_value = kind in ("value", "letter") or sign in (")", "]", "}", "%")


def _is_algebra(sign: str, kind: str) -> bool:
    if kind == "value":
        return sign[-1] not in DIGITS and sign not in ("\\times", "\\cdot", "\\div")
    return kind == "letter" or sign in ALGEBRAIC


class _Runs:
    """The runs of a sentence that may be its answer."""

    def __init__(self) -> None:
        self.found, self.result, self.run = _Run(), _Run(), _Run()
        self.stands_apart = self.is_compound = False
        self.between: list[str] = []
        """Words since the last run that has a value."""

    def end_run(self) -> None:
        run, self.run = self.run, _Run()
        if not run.has_value:
            return
        if run.has_equals and run.is_arithmetic:
            self.result, self.stands_apart = run, False
        elif self.found.has_value and self.between[-1:] and self.between[-1] in DEFINITE:
            return  # `in the 2 months`: nothing that was asked for
        self.is_compound = self.found.has_digit and _is_compound(self.between)
        self.found, self.between = run, []

    def add_word(self, word: str) -> None:
        self.end_run()
        self.stands_apart |= word in CLAUSES
        self.between.append(word)

    def chosen(self) -> _Run | None:
        if self.result.has_value and not self.stands_apart:
            return self.result
        return None if self.is_compound or not self.found.has_value else self.found


def _is_compound(between: list[str]) -> bool:
    """Whether two values with these words between them are none alone: `3 hours and 5 minutes`."""
    if not OPENING.isdisjoint(between):
        return False
    return between == ["out", "of"] or len(set(filter(_LETTERS.fullmatch, between)) - JOINTS) <= 1


def last_expression(text: str, start: int, end: int) -> Span | None:
    """The last expression between `start` and `end` that has a value in it."""
    runs = _Runs()
    end = remark_start(text, start, end)
    for token in _TOKEN.finditer(text, start, end):
        kind = _kind(text, token, start, end)
        if kind == "space":
            continue
        if kind == "join":
            inside = runs.run.depth > 0 and token[0] in ",;"
            joins = runs.run.ends_in_value and _NEXT_NUMBER.match(text, token.end(), end)
            kind = "join" if inside or joins else "word"
        if kind == "word":
            runs.add_word(token[0])
        else:
            runs.run.add(token, kind)
    runs.end_run()
    run = runs.chosen()
    span = _trimmed(text, run) if run else None
    return (span[0], _unit_end(text, span[1], end)) if span else None


def remark_start(text: str, start: int, end: int) -> int:
    """Where a remark in brackets begins that the sentence ends in, behind a number; or its end."""
    remark = _REMARK.search(text, start, end)
    return remark.start() if remark and _DIGIT.search(text, start, remark.start()) else end


def _unit_end(text: str, start: int, end: int) -> int:
    """End of the scale and the unit behind a number, as in `3.5 million` and `5 cm^2`."""
    if text[start - 1] not in DIGITS:
        return start
    scale = _SCALE.match(text, start, end)
    stop = scale.end() if scale else start
    unit = _UNIT.match(text, stop, end)
    if unit is None or unit[1] not in UNITS or _PER.match(text, unit.end(), end):
        return stop
    is_lone = unit[1] in LONE_UNITS and unit.end() < end
    return stop if is_lone else unit.end()


def _kind(text: str, token: re.Match[str], start: int, end: int) -> str:
    """What a token is to an expression: value, letter, sign, space, join or word."""
    group = str(token.lastgroup)
    if group in ("sign", "space"):
        return group
    if group == "command":
        return "word" if token[0] in ("\\boxed", "\\fbox") else "value"
    if group == "comma":
        return "join"
    if group == "number":
        attached = _LETTERS.match(text, token.end(), end)
        return "word" if attached and attached[0] in ORDINALS else "value"
    if group == "word":
        return _word_kind(text, token, start, end)
    return "value" if token[0] in VALUES else "sign" if token[0] in SIGNS else "word"


def _word_kind(text: str, token: re.Match[str], start: int, end: int) -> str:
    word = token[0]
    before = at(text, token.start() - 1) if token.start() > start else ""
    if before and before in "0123456789":
        loose = word in ORDINALS or word in UNITS.keys() - LONE_UNITS
        return "word" if loose else "letter"
    if word in ("and", "or"):
        return "join"
    if word == "pi":
        return "value"
    following = text[token.end() : end].lstrip(" ")[:1]
    if word in FUNCTIONS:
        return "value" if following and following in "(\\0123456789" else "word"
    if len(word) > 1:
        return "word"
    preceding = text[start : token.start()].rstrip(" ")[-1:]
    if (
        word == "x"
        and _TIMES_BEFORE.match(preceding)
        and following
        and following in "$(.0123456789"
    ):
        return "sign"
    is_unequal = text[token.end() : end].lstrip(" ").startswith("!=")
    touches = (preceding and preceding in _BEFORE) or (following and following in _AFTER)
    touches = touches or is_unequal
    return "letter" if touches or at(text[:end], token.end()) == "(" else "word"


# trimming

_LEADING = " \t$*=<>/^_!%,;&~)]}"
_TRAILING = " \t$*=<>/^_,;&~+-([{"
_RELATION = re.compile("[<>,;!\u2264\u2265\u2260]| (?:and|or) ")
_PAIRS = ("\\(", "\\)", "\\[", "\\]", "\\,", "\\ ", "\\;", "\\!")


def _trimmed(text: str, run: _Run) -> Span | None:
    start, end = _without_signs(text, run.start, run.end)
    if text.startswith("- ", start) and start == run.start:  # a bullet or a dash
        start += 2
    equals = text.rfind("=", start, end)
    if equals >= 0:
        earlier = text.rfind("=", start, equals)
        last = normal_form(text[equals + 1 : end])
        is_chain = earlier >= 0 and last.is_number and not _RELATION.search(text, start, equals)
        other = normal_form(text[max(earlier + 1, start) : equals])
        is_whole = start == run.start and other.is_number and last.is_number
        if is_whole and not same(other, last) and not same(last, other):
            return None  # a false chain: `17 = 18`
        if run.is_arithmetic or is_chain:
            start, end = _without_signs(text, equals + 1, end)
    return (start, end) if start < end else None


def _without_signs(text: str, start: int, end: int) -> Span:
    while start < end:
        if text.startswith(_PAIRS, start, end):
            start += 2
        elif text[start] in _LEADING or (text[start] in "([{|" and _is_alone(text, start, end)):
            start += 1
        else:
            break
    while start < end:
        if text.endswith(_PAIRS, start, end):
            end -= 2
        elif text[end - 1] in _TRAILING or (
            text[end - 1] in ")]}|" and _is_alone(text, start, end)
        ):
            end -= 1
        else:
            break
    return start, end


def _is_alone(text: str, start: int, end: int) -> bool:
    """Whether brackets (or bars) are not even between `start` and `end`."""
    inner = text[start:end]
    bars = inner.count("|") % 2 == 1 if "|" in (inner[0], inner[-1]) else False
    return bars or any(inner.count(a) != inner.count(b) for a, b in ("()", "[]", "{}"))
