"""The last number of a text, read from its end: the twin of `cpp/src/last_number.cpp`.

A number is `1,234.5`, `3/4`, `2 3/4` or `\\frac{3}{4}`, with a minus sign before and a percent sign
after it. A digit of a name (`CO2`) is passed over. A number inside a formula (`x^2`, `\\sqrt{17}`,
`2x`) means that the text ends in something else, so there is no answer.
"""

from cohort.grading.reference.words import LONE_UNITS, UNITS

DIGITS = frozenset("0123456789")
LETTERS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
ALNUM = DIGITS | LETTERS
FRACTIONS = ("\\frac", "\\dfrac", "\\tfrac", "\\cfrac")


def last_number(text: str) -> tuple[int, int] | None:
    """Start and end of the last number of `text`, or None."""
    end = len(text)
    while True:
        while end and text[end - 1] not in DIGITS:
            end -= 1
        if not end:
            return None
        start, stop = _span(text, end)
        if _in_formula(text, start, stop):
            return None
        if at(text, start - 1) not in LETTERS:
            return start, stop
        end = start


def at(text: str, index: int) -> str:
    """The character at `index`, empty outside of the text."""
    return text[index] if 0 <= index < len(text) else ""


# where it starts and ends


def _span(text: str, end: int) -> tuple[int, int]:
    """The number whose last digit stands before `end`."""
    start, stop = _fraction_start(text, end), end + 1
    if start < 0:
        start, stop = _plain_start(text, end), end
    if at(text, stop) == "%":
        stop += 1
    elif text.startswith("\\%", stop):
        stop += 2
    return _with_sign(text, start), stop


def _fraction_start(text: str, end: int) -> int:
    """Start of the `\\frac{a}{b}` whose b ends at `end`, its whole part included; -1 if none."""
    if at(text, end) != "}":
        return -1
    bottom = _group_start(text, end)
    top = _group_start(text, bottom - 1) if at(text, bottom - 1) == "}" else -1
    if bottom < 0 or top < 0:
        return -1
    for name in FRACTIONS:
        if text.endswith(name, 0, top):
            return _digits_start(text, top - len(name))
    return -1


def _group_start(text: str, close: int) -> int:
    """Index of the `{` of the plain number that closes at `close`; -1 when it is something else."""
    start = close
    while at(text, start - 1) in DIGITS or (start > 0 and text[start - 1] in "., -"):
        start -= 1
    return start - 1 if at(text, start - 1) == "{" else -1


def _plain_start(text: str, end: int) -> int:
    """Start of the decimal, quotient or mixed number that ends at `end`."""
    start = _decimal_start(text, end)
    if at(text, start - 1) != "/" or at(text, start - 2) not in DIGITS:
        return start
    start = _decimal_start(text, start - 1)
    if at(text, start - 1) == " " and at(text, start - 2) in DIGITS:
        start = _digits_start(text, start - 1)
    return start


def _decimal_start(text: str, end: int) -> int:
    start = _digits_start(text, end)
    if at(text, start - 1) != ".":
        return _groups_start(text, start, end)
    if at(text, start - 2) in DIGITS:
        end = start - 1
        return _groups_start(text, _digits_start(text, end), end)
    before = at(text, start - 2)
    return start if before in ALNUM or before == "." else start - 1


def _groups_start(text: str, start: int, end: int) -> int:
    """Extend the digits from `start` to `end` by groups of thousands before them."""
    while end - start == 3:
        comma = start - 1 if at(text, start - 1) == "," else start - 3
        if comma < 0 or text[comma:start] not in (",", "{,}"):
            break
        group = _digits_start(text, comma)
        size = comma - group
        if not 1 <= size <= 3 or (size < 3 and text[group] == "0"):
            break
        start, end = group, comma
    return start


def _digits_start(text: str, end: int) -> int:
    while at(text, end - 1) in DIGITS:
        end -= 1
    return end


def _with_sign(text: str, start: int) -> int:
    """`start`, or the minus sign before it when that is no operator."""
    sign = start
    if at(text, sign - 1) == "$":
        sign -= 2 if at(text, sign - 2) == "\\" else 1
    if at(text, sign - 1) not in {"-", "\u2212"}:
        return start
    before = at(text, sign - 2)
    return start if before in ALNUM or (before and before in ")]}%$") else sign - 1


# what stands around it


def _in_formula(text: str, start: int, end: int) -> bool:
    """Whether the number from `start` to `end` is a part of something else."""
    return _bound_before(text, start) or _bound_after(text, end)


def _bound_before(text: str, start: int) -> bool:
    before, further = at(text, start - 1), at(text, start - 2)
    if before in LETTERS:
        return text[start] == "\\"
    if before in {"^", "\\", "{"}:
        return True
    if before == "(":
        return further in LETTERS
    if before == "_":
        return further in ALNUM or further == "}"
    return before in {"*", "/", ":"} and further in ALNUM


def _bound_after(text: str, end: int) -> bool:
    after, further = at(text, end), at(text, end + 1)
    if after in LETTERS:
        return _attached_word(text, end) not in UNITS.keys() - LONE_UNITS
    if after in {"{", "}", "("}:
        return True
    if after == "^":
        return not text.startswith(("\\circ", "{\\circ"), end + 1)
    if after == "\\":
        return further in LETTERS and not text.startswith(("text", "mbox", "mathrm"), end + 1)
    if after == "_":
        return further in ALNUM or further == "{"
    return after in {"*", "/", "=", "+", "<", ">"} and (further in ALNUM or further in {"\\", "("})


def _attached_word(text: str, start: int) -> str:
    end = start
    while at(text, end) in LETTERS:
        end += 1
    return text[start:end]
