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
    "text textbf textit textrm mathrm mathbf mathit mathsf mbox boxed fbox underline emph"
    " operatorname bf rm"
)
"""Commands whose argument is meant as it is."""

_UNIT_NAMES = {
    "mm": "mm millimeter millimeters millimetre millimetres",
    "cm": "cm centimeter centimeters centimetre centimetres",
    "m": "m meter meters metre metres",
    "km": "km kilometer kilometers kilometre kilometres",
    "inch": "in inch inches",
    "foot": "ft foot feet",
    "yard": "yd yard yards",
    "mile": "mi mile miles",
    "mg": "mg milligram milligrams",
    "g": "g gram grams",
    "kg": "kg kilogram kilograms",
    "pound": "lb lbs pound pounds",
    "ounce": "oz ounce ounces",
    "ml": "ml milliliter milliliters millilitre millilitres",
    "l": "l L liter liters litre litres",
    "gallon": "gal gallon gallons",
    "second": "s sec secs second seconds",
    "minute": "min mins minute minutes",
    "hour": "h hr hrs hour hours",
    "day": "day days",
    "week": "week weeks",
    "month": "month months",
    "year": "yr yrs year years",
    "cent": "cent cents",
    "degree": "degree degrees",
    "mile/hour": "mph",
    "km/hour": "kph",
}
UNITS = {form: name for name, forms in _UNIT_NAMES.items() for form in forms.split()}
"""Every form of a unit, and its name."""

LONE_UNITS = word_set("in m g l L s h")
"""Units only inside `\\text{}` or after `per`: elsewhere they are a word or a variable."""

SCALES = {"hundred": 2, "thousand": 3, "million": 6, "billion": 9, "trillion": 12}
"""Words that multiply by a power of ten."""

MATH_WORDS = word_set(
    "or and if not to minus plus times over than more less when unless except mod modulo pi sqrt"
    " sin cos tan cot sec csc log ln exp squared cubed factorial choose root half third quarter"
    " dozen infinity infty maybe perhaps possibly wrong incorrect between hundred thousand million"
    " billion trillion otherwise below base remainder halves thirds fourths quarters fifths sixths"
    " sevenths eighths ninths tenths hundredths thousandths fourth fifth sixth seventh eighth ninth"
    " tenth hundredth dozens negative"
)
"""Words after a number that make it part of something else."""

SHORT_WORDS = word_set("in of at on by as so it is he we an")
"""Words of two letters that are prose; other short ones may be variables."""
