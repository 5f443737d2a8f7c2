"""The words that grading knows: LaTeX commands, units, scales, and prose that may follow a number.

The same tables stand in `cpp/src/words.cpp`; a test sends every entry through both.
"""


def word_set(text: str) -> frozenset[str]:
    """The words of `text`, which spaces separate."""
    return frozenset(text.split())


LOOSE_COMMANDS = {
    **dict.fromkeys(["!", "left", "right", "displaystyle"], ""),
    **dict.fromkeys([",", ";", ":", " ", "quad", "qquad"], " "),
    **dict.fromkeys(["dfrac", "tfrac", "cfrac"], "\\frac"),
    **dict.fromkeys(["(", ")", "[", "]", "$"], "$"),
    "%": "%",
    "div": "/",
    "degree": "^\\circ ",
    "ldots": "\\dots",
}
"""Commands that change the look only, and what stands for them."""

WRAPPERS = word_set(
    "text textbf textit textnormal textrm mathrm mathbf mathit mathsf mbox boxed fbox underline"
    " emph operatorname bf rm"
)
"""Commands whose argument is meant as it is."""

_UNIT_NAMES = {
    "inch": "in inch inches",
    "foot": "ft foot feet",
    "yard": "yd yard yards",
    "mile": "mi mile miles",
    "acre": "acre acres",
    "hectare": "ha hectare hectares",
    "pound": "lb lbs pound pounds",
    "ounce": "oz ounce ounces",
    "ton": "ton tons tonne tonnes",
    "gallon": "gal gallon gallons",
    "quart": "qt quart quarts",
    "pint": "pt pint pints",
    "cup": "cup cups",
    "tablespoon": "tbsp tablespoon tablespoons",
    "teaspoon": "tsp teaspoon teaspoons",
    "second": "s sec secs second seconds",
    "minute": "min mins minute minutes",
    "hour": "h hr hrs hour hours",
    "day": "day days",
    "week": "week weeks",
    "month": "month months",
    "year": "yr yrs year years",
    "cent": "cent cents",
    "$": "dollar dollars USD",
    "euro": "euro euros",
    "yen": "yen",
    "yuan": "yuan",
    "rupee": "rupee rupees",
    "degree": "degree degrees",
    "radian": "rad radian radians",
    "atm": "atm atmospheres",
    "byte": "byte bytes",
    "kB": "KB kB kilobyte kilobytes",
    "MB": "MB megabyte megabytes",
    "GB": "GB gigabyte gigabytes",
    "Mb": "Mb megabit megabits",
    "mile/hour": "mph",
    "km/hour": "kph",
    "unit": "unit units",
}
_SHORT_METRIC = {"m": "meter metre", "g": "gram", "l": "liter litre", "L": "", "s": "second"}
_LARGE_METRIC = {
    "A": "ampere amp",
    "Hz": "hertz",
    "J": "joule",
    "N": "newton",
    "Pa": "pascal",
    "V": "volt",
    "W": "watt",
    "Wh": "",
    "cal": "calorie",
    "mol": "mole",
}
_PREFIXES = {
    "G": "giga",
    "M": "mega",
    "c": "centi",
    "d": "deci",
    "k": "kilo",
    "m": "milli",
    "n": "nano",
}


def _metric_forms(metric: dict[str, str], prefixes: list[str]) -> dict[str, str]:
    """`km`, `kilometer`, `kilometers` and their kind, and the name of each: `km`."""
    forms = {}
    for symbol, words in metric.items():
        for prefix in prefixes:
            name = f"{prefix}{symbol}".replace("L", "l")
            forms[prefix + symbol] = name
            for word in words.split():
                form = _PREFIXES.get(prefix, "") + word
                forms |= {form: name, f"{form}s": name}
    return forms


UNITS = {
    **_metric_forms(_SHORT_METRIC, ["", "c", "d", "k", "m", "n"]),
    **_metric_forms(_LARGE_METRIC, ["", "G", "M", "k", "m"]),
    **{form: name for name, forms in _UNIT_NAMES.items() for form in forms.split()},
}
"""Every form of a unit, and its name."""

LONE_UNITS = frozenset(form for form in UNITS if len(form) < 3) - word_set(
    "cm ft hr kg km lb mg mi ml mm oz yd yr"
)
"""Units only inside `\\text{}` or after `per`: elsewhere they are a word or a variable."""

CURRENCIES = word_set("$ euro gbp rupee yen yuan")
"""Units that may stand before their number, and that a normal form does not spell out."""

SCALES = {"hundred": 2, "thousand": 3, "million": 6, "billion": 9, "trillion": 12}
"""Words that multiply by a power of ten."""

MATH_WORDS = word_set(
    "or and if not to minus plus times over than more less when unless except mod modulo pi sqrt"
    " sin cos tan cot sec csc log ln exp squared cubed factorial choose root half third quarter"
    " dozen infinity infty maybe perhaps possibly wrong incorrect between hundred thousand million"
    " billion trillion otherwise below base remainder halves thirds fourths quarters fifths sixths"
    " sevenths eighths ninths tenths hundredths thousandths fourth fifth sixth seventh eighth ninth"
    " tenth hundredth dozens negative most least"
)
"""Words after a number that make it part of something else."""

SHORT_WORDS = word_set("in of at on by as so it is he we an")
"""Words of two letters that are prose; other short ones may be variables."""
