"""The last expression of a sentence: the twin of `cpp/src/expression_end.cpp`.

Signs, numbers, LaTeX and letters that touch them belong together; words keep expressions apart.
Numbers that commas, `and` or `or` join are one list, so that none of them stands for all. What a
calculation results in comes before a plain number behind it (`6 * 7 = 42 dollars for 6 hours`).
"""

import re

from cohort.grading.reference.lines import Span, at
from cohort.grading.reference.normal_form import normal_form
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
    r"|(?P<word>[A-Za-z][A-Za-z0-9']*)|(?P<space>[ \t]+)|(?P<comma>[,;])|(?P<any>.)",
    re.DOTALL,
)
_TIMES_BEFORE = re.compile("[0-9)%]")
DIGITS = "0123456789"
ALGEBRAIC = ("<", ">", "|", "_", "\u2264", "\u2265", "\u2260", "\u222a", "\u2229")
CLAUSES = word_set(", ; : so then is are was were has have had be get gets equals leaves leaving")
"""After a calculation they begin something that has a number of its own."""
_LETTERS = re.compile("[A-Za-z]+")
_BEFORE = "=^_+*/<>([{-\u2212\u2264\u2265\u2260\u00d7\u00f7\u221a\u00b7"
_AFTER = "=^_+*/<>-\u2212\u2264\u2265\u2260\u00d7\u00f7\u00b7"
_NEXT_NUMBER = re.compile(r"[ $]*(?:and |or )?[-+\u2212]?[\\$]*[0-9\u221a\u03c0]")


class _Run:
    """Tokens that belong together."""

    def __init__(self) -> None:
        self.start = self.end = -1
        self.depth = 0
        self.has_value = self.has_equals = self.ends_in_value = False
        self.is_arithmetic = True

    def add(self, token: re.Match[str], kind: str) -> None:
        sign = token[0]
        self.start = token.start() if self.start < 0 else self.start
        self.end = token.end()
        self.depth += (sign in "([{") - (sign in ")]}") if len(sign) == 1 else 0
        self.has_equals |= sign == "="
        self.is_arithmetic &= not _is_algebra(sign, kind)
        self.has_value |= kind == "value" or (kind == "letter" and self.has_equals)
        if kind != "join":
            self.ends_in_value = kind in ("value", "letter") or sign in (")", "]", "}", "%")


def _is_algebra(sign: str, kind: str) -> bool:
    if kind == "value":
        return sign[-1] not in DIGITS and sign not in ("\\times", "\\cdot", "\\div")
    return kind == "letter" or sign in ALGEBRAIC


def last_expression(text: str, start: int, end: int) -> Span | None:
    """The last expression between `start` and `end` that has a value in it."""
    found = result = _Run()
    run, stands_apart = _Run(), False
    for token in _TOKEN.finditer(text, start, end):
        kind = _kind(text, token, start, end)
        if kind == "space":
            continue
        if kind == "join":
            inside = run.depth > 0 and token[0] in ",;"
            joins = run.ends_in_value and _NEXT_NUMBER.match(text, token.end(), end)
            kind = "join" if inside or joins else "word"
        if kind != "word":
            run.add(token, kind)
            continue
        found, result, stands_apart = _ended(run, found, result, stands_apart)
        stands_apart |= token[0] in CLAUSES
        run = _Run()
    found, result, stands_apart = _ended(run, found, result, stands_apart)
    found = result if result.has_value and not stands_apart else found
    return _trimmed(text, found) if found.has_value else None


def _ended(run: _Run, found: _Run, result: _Run, stands_apart: bool) -> tuple[_Run, _Run, bool]:
    """The last run with a value, the last calculation, and whether a clause stands after it."""
    if run.has_value and run.has_equals and run.is_arithmetic:
        return run, run, False
    return (run if run.has_value else found), result, stands_apart


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
    if word == "x" and _TIMES_BEFORE.match(preceding) and following and following in "$(0123456789":
        return "sign"
    touches = (preceding and preceding in _BEFORE) or (following and following in _AFTER)
    return "letter" if touches or at(text[:end], token.end()) == "(" else "word"


# trimming

_LEADING = " \t$*=<>/^_!%,;&~)]}"
_TRAILING = " \t$*=<>/^_,;&~+-([{"
_PAIRS = ("\\(", "\\)", "\\[", "\\]", "\\,", "\\ ", "\\;", "\\!")


def _trimmed(text: str, run: _Run) -> Span | None:
    start, end = _without_signs(text, run.start, run.end)
    if text.startswith("- ", start) and start == run.start:  # a bullet or a dash
        start += 2
    equals = text.rfind("=", start, end)
    if equals >= 0:
        is_chain = "=" in text[start:equals] and normal_form(text[equals + 1 : end]).is_number
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
