"""Reading a number and what may follow it: the twin of `cpp/src/{number,tail}.cpp`."""

import re
from typing import NamedTuple

from cohort.grading.reference.exact import decimal, mixed, negate, quotient, shift, split
from cohort.grading.reference.labels import label
from cohort.grading.reference.number_words import NUMBER_WORDS, read_words
from cohort.grading.reference.spelling import unwrap
from cohort.grading.reference.words import (
    CURRENCIES,
    LONE_UNITS,
    MATH_WORDS,
    SCALES,
    SHORT_WORDS,
    UNITS,
)


class Number(NamedTuple):
    """An exact value, its unit (`%`, a name such as `cm^2`, or nothing) and what is counted."""

    value: str
    unit: str
    label: str


# The number itself

_DIGITS = (
    r"(?:[1-9][0-9]{0,2}(?:,[0-9]{3})+(?![0-9])|[1-9][0-9]{0,2}(?: [0-9]{3})+(?![0-9])|[0-9]+)"
)
_DECIMAL = rf"(?:{_DIGITS}(?:\.[0-9]+)?|\.[0-9]+)"
_ARGUMENT = rf"(?:\{{ *[+-]? *{_DECIMAL} *\}}|[0-9])"
_NATURAL = r"(?:\{ *[0-9]+ *\}|[0-9])"
_SIGN = {"$": "$", "\\euro": "euro", "\\pounds": "gbp", "\\rupee": "rupee", "\\yen": "yen"}
_NAMED = r"\\(?:euro|pounds|rupee|yen)(?![A-Za-z])"
_HEAD = re.compile(rf" *([+-]?) *(\$|{_NAMED})? *([+-]?) *")
_FRACTION = re.compile(rf"\\frac *({_ARGUMENT}) *({_ARGUMENT})")
_MIXED = re.compile(rf"([0-9]+)(?: *\\frac *({_NATURAL}) *({_NATURAL})| +([0-9]+)/([0-9]+))")
_QUOTIENT = re.compile(rf"({_DECIMAL}) */ *([+-]? *{_DECIMAL})")
_PLAIN = re.compile(_DECIMAL)
_POWER = re.compile(
    r" *(?:\\times|\\cdot|\*) *10\^(?:\{ *([+-]?[0-9]+) *\}|([+-]?[0-9]+))"
    r"|[eE]([+-]?[0-9]+)(?![0-9A-Za-z])"
)


def read_number(text: str) -> Number | None:
    """A number with its unit, or None when the whole of `text` is not one."""
    head = _HEAD.match(text)
    assert head is not None  # every part of it is optional
    if head[1] and head[3]:
        return None
    value, at = _magnitude(text, head.end())
    if value is not None and "-" in (head[1], head[3]):
        value = negate(value)
    if value is not None and (power := _POWER.match(text, at)):
        value, at = shift(value, power[1] or power[2] or power[3]), power.end()
    return None if value is None else _read_tail(value, _SIGN.get(head[2] or "", ""), text[at:])


def _magnitude(text: str, at: int) -> tuple[str | None, int]:
    """Value and end of the unsigned number at `at`; the value is None when it has none."""
    if match := _FRACTION.match(text, at):
        return quotient(match[1].strip("{}"), match[2].strip("{}")), match.end()
    if match := _MIXED.match(text, at):
        parts = (match[1], match[2] or match[4], match[3] or match[5])
        return mixed(*(part.strip("{} ") for part in parts)), match.end()
    if match := _QUOTIENT.match(text, at):
        return quotient(match[1], match[2]), match.end()
    if match := _PLAIN.match(text, at):
        _, whole, part = split(match[0])
        return decimal("", whole, part), match.end()
    return read_words(text, at)


# What may follow it

_CLOSED = re.compile(r"(?:\$|\*\*|__)(?=[ ,;:)]|\Z)")
_SCALE = re.compile(r" *([A-Za-z]+)")
_PERCENT = re.compile(r" *(?:%|(?:percent|percentage|pct)(?![A-Za-z]))")
_DEGREE = re.compile(r" *\^\\circ *([CF](?![A-Za-z]))?")
_UNIT = re.compile(r" *(?:(square|sq|cubic) )?([A-Za-z]+)(?:\^\{?([23])\}?)?")
_PER = re.compile(r"(?: */ *| per )([A-Za-z]+)(?:\^\{?([23])\}?)?")
_OVER = re.compile(r" */ *(?=[A-Za-z])")
_BEHIND = re.compile(rf" *({_NAMED})")
_PROSE = re.compile(r"[A-Za-z ,;:()]*")
_WORD = re.compile(r"[A-Za-z]+")


def _read_tail(value: str, currency: str, tail: str) -> Number | None:
    """The number when `tail` is a unit, plain words, both or nothing."""
    plain = unwrap(tail)
    wrapped = plain != tail
    apart = wrapped or plain[:1] in {" ", ",", ";", ":", "("}
    if closed := _CLOSED.match(plain):
        currency = "" if closed[0] == currency else currency  # `$5$` is a formula
        plain, apart = plain[closed.end() :], True
    scale = _SCALE.match(plain)
    if apart and scale and scale[1].lower() in SCALES:
        scaled = shift(value, str(SCALES[scale[1].lower()]))
        if scaled is None:
            return None
        value, plain = scaled, plain[scale.end() :]
    unit, at = _read_unit(plain, wrapped)
    unit = unit or currency
    rest = plain[at:]
    if unit in CURRENCIES and (per := _OVER.match(rest)):
        rest = rest[per.end() :]  # `$5/hour`
    if not _is_prose(rest) or not (at or apart or not plain):
        return None
    return Number(value, unit, label(rest))


def _read_unit(text: str, wrapped: bool) -> tuple[str, int]:
    """Name and end of the unit that `text` begins with; an empty name when there is none."""
    if match := _PERCENT.match(text):
        return "%", match.end()
    if match := _DEGREE.match(text):
        return f"degree {match[1]}" if match[1] else "degree", match.end()
    if match := _BEHIND.match(text):
        return _SIGN[match[1]], match.end()
    match = _UNIT.match(text)
    if not match or (match[2] in LONE_UNITS and not wrapped):
        return "", 0
    name = _unit_name(match[2])
    if not name or name in CURRENCIES:
        return name, match.end(2) if name else 0
    power = match[3] or {"square": "2", "sq": "2", "cubic": "3"}.get(match[1])
    unit, at = f"{name}^{power}" if power else name, match.end()
    if (per := _PER.match(text, at)) and (below := _unit_name(per[1])):
        return f"{unit}/{below}^{per[2]}" if per[2] else f"{unit}/{below}", per.end()
    return unit, at


def _unit_name(word: str) -> str:
    return UNITS.get(word) or UNITS.get(word.lower() if len(word) > 1 else "", "")


def _is_prose(text: str) -> bool:
    """Whether `text` has words only, none of which could belong to a formula."""
    if not _PROSE.fullmatch(text):
        return False
    words = _WORD.findall(text.lower())
    return all(
        word not in MATH_WORDS
        and word not in NUMBER_WORDS
        and (len(word) > 2 or word in SHORT_WORDS or (word == "a" and position < len(words)))
        for position, word in enumerate(words, start=1)
    )
