"""Numbers in words: the twin of `cpp/src/number_words.cpp`.

twelve   twenty-one   three hundred and five   two million four thousand
"""

import re

_SMALL = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen"
    " sixteen seventeen eighteen nineteen"
)
ONES = {word: value for value, word in enumerate(_SMALL.split())}
"""0 to 19."""
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety"
TENS = {word: 10 * value for value, word in enumerate(_TENS.split(), start=2)}
GREAT = {"thousand": 10**3, "million": 10**6, "billion": 10**9, "trillion": 10**12}
NUMBER_WORDS = frozenset({*ONES, *TENS, *GREAT, "hundred"})

_WORD = re.compile(r"([ -]?)(and |)([A-Za-z]+)")


def read_words(text: str, at: int) -> tuple[str | None, int]:
    """Value and end of the number in words at `at`; the value is None when there is none."""
    reader = _Reader()
    end = at
    while match := _WORD.match(text, end):
        separator, joint, word = match[1], match[2], match[3].lower()
        if word not in NUMBER_WORDS:
            break
        if not reader.accepts(separator, bool(joint), word, first=end == at):
            return None, at
        end = match.end()
    if end == at or text[end : end + 1] == "-":
        return None, at
    return str(reader.total + reader.group), end


class _Reader:
    def __init__(self) -> None:
        self.total = self.group = 0
        self.limit = 10**15  # the next great word must be below it
        self.is_zero = False

    def accepts(self, separator: str, joined: bool, word: str, first: bool) -> bool:
        """Add a word, if the number may go on with it."""
        below = self.group % 100
        if first != (separator == "") or self.is_zero:
            return False
        if separator == "-" and (joined or below < 20 or below % 10 or word not in ONES):
            return False
        if joined and (first or below or word in GREAT or word == "hundred"):
            return False
        if word in GREAT:
            return self._great(GREAT[word])
        if word == "hundred":
            fits = 0 < self.group < 20
            self.group *= 100
            return fits
        value = TENS.get(word, ONES.get(word, 0))
        self.is_zero = value == 0
        fits = below == 0 or (value < 10 and below >= 20 and below % 10 == 0)
        self.group += value
        return fits and (first or value > 0)

    def _great(self, value: int) -> bool:
        fits = self.group > 0 and value < self.limit
        self.total, self.group, self.limit = self.total + self.group * value, 0, value
        return fits
