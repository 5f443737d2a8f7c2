"""Which option of a multiple-choice question a text commits to, and whether to one only.

Three kinds of places are tried in turn; the first kind that says anything decides:

    stated   \\boxed{B}   <answer>B</answer>   The answer is (B).   Answer: B   答案是B
    marked   **B**   B is correct
    alone    the whole text, or its last line, is the option

Within a kind the last place wins when something in between takes the earlier ones back (`wait`,
`but`, `instead`), when it is more formal (a box after a sentence), or when it chooses one of those
that were still open; otherwise different options stay side by side, and none is committed to.
Only the end of a text, its last places and the beginning of each are read: the work is bounded.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from services.reward.verifiers.rule import boxed_spans, tagged_spans

MAX_CHARS = 16_384
"""A text's end of this length is read."""
_MAX_PLACES = 64
_MAX_READ = 512
_WIDE = {0xFF21 + i: chr(65 + i) for i in range(26)} | {0xFF08: "(", 0xFF09: ")", 0xFF1A: ":"}
_STATED = re.compile(
    r"(?<![a-z])(?:answer|(?:correct|right|best)\s(?:option|choice|letter))s?[*_\"')\s]{0,4}"
    r"(?:is(?![a-z'\u2019])|:|=|(?:should|must|would|will|has\sto)\sbe(?![a-z]))"
    r"|(?:答案|选项)(?:应该)?(?:是|为|:)|故选:?|应选:?",
    re.IGNORECASE,
)
_BOLD = re.compile(r"\*\*([^*\n]{1,40})\*\*")
_IS_RIGHT = re.compile(
    r"(?<![\w'])\(?([A-Z])\)?\sis\s(?:(?:clearly|indeed|therefore)\s)?(?:the\s)?(?:correct|right|best)"
    r"(?![a-z])"
)
_TAKEN_BACK = re.compile(
    r"(?<![a-z])(?:wait|but|actually|however|correction|correcting|corrected|instead|rather|sorry"
    r"|mistake|hmm|oops|reconsider|reconsidering|recheck|re-check|let me|second thought|no[,.]"
    r"|changed?|revised?|final(?:ly)?|scratch that|not right|wrong)(?![a-z])|不对|更正|但是?|然而",
    re.IGNORECASE,
)
_DISOWNED = re.compile(
    r"(?<![a-z])(?:scratch that|(?:i|we) take (?:that|it) back"
    r"|(?:that|this|it|which)(?:['\u2019]s| is| was) (?:wrong|incorrect|not right|not correct))"
    r"(?![a-z])",
    re.IGNORECASE,
)
_SENTENCE_END = re.compile(r"[.!?][)*_\"']{0,4}(?=\s|$)|[\n。！？]")
_WRAPPER = re.compile(
    r"\\(?:text|textbf|textrm|textit|mathrm|mathbf|mathsf|mathit|boxed|fbox|rm|bf|left|right|[()\[\]])"
    r"(?![A-Za-z])"
)
_SOFT = str.maketrans({**dict.fromkeys("{}$*_\"'`\u2018\u2019\u201c\u201d", " "), "\u00a0": " "})
_LEAD = re.compile(
    r"[\s:]*(?:(?:option|choice|letter|answer|either|both|between|definitely|clearly|probably"
    r"|simply|just|indeed|therefore|rather|the|is|be)(?![A-Za-z])[\s:]*)*",
    re.IGNORECASE,
)
_LETTER = re.compile(r"\(\s*([A-Za-z])\s*\)|\[\s*([A-Za-z])\s*\]|([A-Za-z])(?![A-Za-z\u2019'])")
_OR = re.compile(
    r"\s*(?:(?:(?:and/or|or|and|maybe|perhaps)(?![A-Za-z])|[,/&|;+])\s*)+", re.IGNORECASE
)
_NEGATED = re.compile(r"\s*(?:not|neither|never|none|no|cannot|can't)(?![A-Za-z])", re.IGNORECASE)
_PROSE = re.compile(
    r"\s+(?!(?:because|since|as|and|or|but|not|is|for|due|rather|over|by|with)\b)[a-z]"
)
_IF = frozenset(
    ("if", "whether", "unless", "suppose", "supposing", "assume", "assuming", "doubt", "not")
)
_BELIEF = frozenset(("think", "believe", "say"))
_FILLER = frozenset(("the", "that", "correct", "right", "final", "best", "our", "my", "true", "a"))


@dataclass(frozen=True, slots=True)
class Options:
    """The letters that may be chosen, and what the options say, spelled by `spelled`."""

    letters: str
    texts: Mapping[str, str]


class Reading(NamedTuple):
    """What a place says: the letters it names, and what is left of it after them."""

    letters: frozenset[str]
    rest: str


class Place(NamedTuple):
    """A reading, where it stands, and whether it is a box or a block."""

    start: int
    end: int
    letters: frozenset[str]
    formal: bool


def committed(text: str, options: Options) -> frozenset[str]:
    """The letters that stay committed to: one is an answer, none is no answer, more are a guess."""
    text = text[-MAX_CHARS:]
    if not text.isascii():
        text = text.translate(_WIDE)
    for places in (_stated(text, options), _marked(text, options)):
        found = sorted(places)
        if found:
            return _live(text, found)
    return _alone(text, options)


def spelled(text: str) -> str:
    """An option's text without the differences that do not matter."""
    return " ".join(_soften(text).casefold().split()).strip(" .,;:!")


def read(text: str, options: Options) -> Reading:
    """The letters at the beginning of `text`; an option's text is its letter."""
    text = text[:_MAX_READ]
    if text.count("{") != text.count("}"):  # cut off in the middle
        return Reading(frozenset(), "")
    plain = spelled(text)
    by_text = frozenset(options.texts.get(plain, ""))
    if by_text and len(plain) > 1:
        return Reading(by_text, "")
    text = _after_lead(_soften(text))
    if _NEGATED.match(text):
        text = _after_lead(text.partition(" but ")[2])
    letters, rest = _letters(text, options)
    if not letters:
        return Reading(by_text, "")
    labelled = options.texts.get(spelled(rest.lstrip(" .:)-,")), "")
    return Reading(letters | frozenset(labelled), rest)


def _letters(text: str, options: Options) -> tuple[frozenset[str], str]:
    """`A or B, not C` is A and B, and ` , not C` is left."""
    found: set[str] = set()
    at = 0
    while match := _LETTER.match(text, at):
        letter = match[1] or match[2] or match[3]
        rest = text[match.end() :]
        bare = match[3] is not None
        if bare and letter in "AIa" and _PROSE.match(rest) and not found:
            break  # an article, or I
        if bare and letter.islower() and rest.strip(" .,:)"):
            break
        if letter.upper() not in options.letters:
            break
        found.add(letter.upper())
        at = match.end()
        joined = _OR.match(text, at)
        if not joined or not _LETTER.match(text, joined.end()):
            break
        at = joined.end()
    return frozenset(found), text[at:]


def _stated(text: str, options: Options) -> Iterator[Place]:
    spans = boxed_spans(text) + tagged_spans(text, "answer")
    for start, end in spans[-_MAX_PLACES:]:
        if letters := read(text[start:end], options).letters:
            yield Place(start, end, letters, True)
    for mark in list(_STATED.finditer(text))[-_MAX_PLACES:]:
        start, end = _sentence(text, mark.end())
        asked = text.startswith("?", end)
        if asked or _hypothetical(text[max(0, mark.start() - 60) : mark.start()]):
            continue
        if letters := read(text[start:end], options).letters:
            yield Place(start, end, letters, False)


def _marked(text: str, options: Options) -> Iterator[Place]:
    for match in list(_BOLD.finditer(text))[-_MAX_PLACES:]:
        letters, rest = read(match[1], options)
        if letters and not rest.strip(" .:)"):
            yield Place(*match.span(1), letters, True)
    for match in _IS_RIGHT.finditer(text):
        if match[1] in options.letters:
            yield Place(*match.span(), frozenset(match[1]), False)


def _alone(text: str, options: Options) -> frozenset[str]:
    text = text.strip()
    line = text.rpartition("\n")[2]
    letters, rest = read(line, options)
    label = line == text and rest[:1] in (".", ":", ")", "-", ",")
    if letters and (not rest.strip(" .:)") or label or _NEGATED.match(rest.lstrip(" ,(;"))):
        return letters
    return frozenset()


def _live(text: str, places: list[Place]) -> frozenset[str]:
    live: frozenset[str] = frozenset()
    formal, end = False, 0
    for place in places:
        between = text[end : place.start]
        replaces = (place.formal and not formal) or _TAKEN_BACK.search(between) is not None
        live = place.letters if replaces or place.letters <= live else live | place.letters
        formal, end = formal or place.formal, max(end, place.end)
    return frozenset() if _DISOWNED.search(text, end) else live


def _sentence(text: str, start: int) -> tuple[int, int]:
    """From `start`, or the next line when its own is over, to the end of the sentence."""
    while start < len(text) and text[start] in " \t\n\r*_:":
        start += 1
    limit = min(len(text), start + _MAX_READ)
    found = _SENTENCE_END.search(text, start, limit)
    end = found.start() if found else limit
    tag = text.find("</", start, end)
    return start, end if tag < 0 else tag


def _hypothetical(before: str) -> bool:
    """`if the answer is B`, `I do not think that the answer is B`."""
    words = [word.strip(",*_\"'").lower() for word in _last_sentence(before).split()]
    while words and words[-1] in _FILLER:
        words.pop()
    if not words or words[-1] not in _IF | _BELIEF:
        return False
    return words[-1] in _IF or any(
        w == "not" or w.endswith(("n't", "n\u2019t")) for w in words[-3:]
    )


def _last_sentence(text: str) -> str:
    ends = list(_SENTENCE_END.finditer(text))
    return text[ends[-1].end() :] if ends else text


def _soften(text: str) -> str:
    return _WRAPPER.sub(" ", text).translate(_SOFT).strip()


def _after_lead(text: str) -> str:
    match = _LEAD.match(text)
    return text[match.end() :] if match else text
