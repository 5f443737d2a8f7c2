"""One spelling for what looks alike: the twin of `cpp/src/{fold,spelling}.cpp`.

    " $1{,}234.50 dollars. "  fold   Unicode and LaTeX variants to one ASCII spelling
    " $1,234.50 dollars. "    peel   what surrounds it: spaces, $, **, braces, \\text{}, stops
    "$1,234.50 dollars"

Every character class is ASCII by name, because `str.isdigit` and friends know more than C++ does.
"""

import re

from cohort.grading.reference.words import LOOSE_COMMANDS, WRAPPERS

SPACE = " \t\n\v\f\r"

MAX_LAYERS = 64
"""Wrappers around wrappers that `peel` takes off."""

_FOLDED: dict[int, str] = {
    **{code: chr(code - 0xFEE0) for code in range(0xFF01, 0xFF5F)},  # full width
    **dict.fromkeys(range(0x09, 0x0E), " "),
    **dict.fromkeys(range(0x2000, 0x200B), " "),
    **dict.fromkeys([ord("~"), 0xA0, 0x202F, 0x205F, 0x3000], " "),
    **dict.fromkeys([0x200B, 0x200C, 0x200D, 0x2060, 0xFEFF], ""),
    **dict.fromkeys([0x2010, 0x2011, 0x2012, 0x2013, 0x2212, 0xFE63], "-"),
    **dict.fromkeys([0xF7, 0x2044, 0x2215], "/"),
    **dict.fromkeys([0x2018, 0x2019], "'"),
    **dict.fromkeys([0x201C, 0x201D], '"'),
    0xA2: " cents ",
    0xA3: "\\pounds ",
    0xA5: "\\yen ",
    0x20AC: "\\euro ",
    0x20B9: "\\rupee ",
    0xB0: "^\\circ ",
    0xB2: "^2",
    0xB3: "^3",
    0xBC: " 1/4",
    0xBD: " 1/2",
    0xBE: " 3/4",
    0xD7: "\\times ",
    0x3001: ",",
    0x3002: ".",
}
_COMMAND = re.compile(r"\\([A-Za-z]+)|\\([^A-Za-z])", re.DOTALL)


def fold(answer: str) -> str:
    """Replace Unicode signs and LaTeX spacing, sizing and fraction variants."""
    text = _COMMAND.sub(_plain_command, answer.translate(_FOLDED))
    return text.replace("{,}", ",").replace("^{\\circ}", "^\\circ ")


def _plain_command(match: re.Match[str]) -> str:
    word, sign = match.groups()
    return LOOSE_COMMANDS.get(word or sign, match[0])


# peel: what surrounds an answer

_PAIRS = ("$$", "$", "**", "__", "*", "`", '"', "'")
_WRAPPED = re.compile(r"\\([A-Za-z]+) *\{")


def peel(text: str) -> str:
    """Take off spaces, stops, emphasis, math signs, braces and commands around the whole answer."""
    for _ in range(MAX_LAYERS):
        inner = _peel_layer(text)
        if inner == text:
            break
        text = inner
    return text


def _peel_layer(text: str) -> str:
    text = text.strip(" ").rstrip(".,;:?").removeprefix("**").removesuffix("**").strip(" ")
    for mark in _PAIRS:
        if len(text) >= 2 * len(mark) and text.startswith(mark) and text.endswith(mark):
            return text[len(mark) : -len(mark)]
    if text[:1] == "(" and group_end(text, 0) == len(text) and "," not in text:
        return text[1:-1]
    start = 0
    if match := _WRAPPED.match(text):
        start = match.end() - 1
        if match[1] in ("color", "textcolor"):
            start = group_end(text, start)
        elif match[1] not in WRAPPERS:
            return text
    if text[start : start + 1] == "{" and group_end(text, start) == len(text):
        return text[start + 1 : -1]
    return text


_CLOSING = {"{": "}", "(": ")"}


def group_end(text: str, start: int) -> int:
    """Index after the bracket that closes the one at `start`; -1 when none does."""
    opening, closing = text[start : start + 1], _CLOSING.get(text[start : start + 1], "")
    if not closing:
        return -1
    depth, at = 0, start
    while at < len(text):
        char = text[at]
        if char == "\\":
            at += 1
        elif char == opening:
            depth += 1
        elif char == closing:
            depth -= 1
            if depth == 0:
                return at + 1
        at += 1
    return -1


# inside an answer

_TOKEN = re.compile(r"\\([A-Za-z]+)( *\{)?|\\.?|[{}]", re.DOTALL)
_LONE_GROUP = re.compile(r"([_^])\{([0-9A-Za-z])\}")
_LOOSE_SPACE = re.compile(r"(?<![0-9A-Za-z]) | (?![0-9A-Za-z])")
_NAME = re.compile(r"(?<![A-Za-z\\])([A-Z][a-z]{2,}|No)(?![A-Za-z])")


def unwrap(text: str) -> str:
    """Take off `\\text{}` and its kind wherever they stand; what they hold stays."""
    kept: list[bool] = []  # for each open brace, whether it was kept

    def replace(match: re.Match[str]) -> str:
        token = match[0]
        if token == "}":
            return token if not kept or kept.pop() else ""
        if token == "{" or match[2]:
            kept.append(match[1] not in WRAPPERS)
            return token if kept[-1] else ""
        return token

    return _TOKEN.sub(replace, text)


def text_form(text: str) -> str:
    """One spelling of an answer that is no number."""
    text = _LONE_GROUP.sub(r"\1\2", unwrap(text))
    text = _LOOSE_SPACE.sub("", re.sub(" +", " ", text))
    text = text.replace(",", ", ").strip(" ")
    return _NAME.sub(lambda match: match[0].lower(), text)
