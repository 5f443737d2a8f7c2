"""Exact decimals and fractions as text: the twin of `cpp/src/exact.cpp`.

A value is a decimal of any length (`-12.5`) or a fraction in lowest terms (`1/3`).
"""

from math import gcd

MAX_DIGITS = 18
"""Digits of a fraction's parts; with more it is no number. Integers and decimals have no limit."""
MAX_EXPONENT = 300
"""Of a power of ten."""


def split(number: str) -> tuple[str, str, str]:
    """Sign, digits before and digits after the point."""
    plain = number.replace(",", "").replace(" ", "")
    sign = "-" if "-" in plain else ""
    whole, _, part = plain.strip("+-").partition(".")
    return sign, whole, part


def decimal(sign: str, whole: str, part: str) -> str:
    """One spelling of a decimal: no leading or trailing zeros, no minus zero."""
    whole, part = whole.lstrip("0") or "0", part.rstrip("0")
    digits = f"{whole}.{part}" if part else whole
    return digits if digits == "0" else sign + digits


def negate(value: str) -> str:
    """The value with the other sign."""
    return value[1:] if value[0] == "-" else value if value == "0" else "-" + value


def shift(value: str | None, exponent: str | int) -> str | None:
    """`value` times a power of ten; None for a fraction or an exponent out of bounds."""
    digits = str(exponent).lstrip("+-").lstrip("0") or "0"
    if value is None or "/" in value or len(digits) > 3 or int(digits) > MAX_EXPONENT:
        return None
    places = int(exponent)
    sign, whole, part = split(value)
    if places >= 0:
        part = part.ljust(places, "0")
        return decimal(sign, whole + part[:places], part[places:])
    whole = whole.rjust(-places, "0")
    return decimal(sign, whole[:places], whole[places:] + part)


def quotient(numerator: str, denominator: str) -> str | None:
    """Exact quotient of two decimals; None when it is not defined or has too many digits."""
    sign_n, whole_n, part_n = split(numerator)
    sign_d, whole_d, part_d = split(denominator)
    places = max(len(part_n), len(part_d))
    top = (whole_n + part_n.ljust(places, "0")).lstrip("0") or "0"
    bottom = (whole_d + part_d.ljust(places, "0")).lstrip("0") or "0"
    if bottom == "0" or max(len(top), len(bottom)) > MAX_DIGITS:
        return None
    return ratio("" if sign_n == sign_d else "-", int(top), int(bottom))


def mixed(whole: str, numerator: str, denominator: str) -> str | None:
    """Exact `whole numerator/denominator`; None unless the fraction is proper and small enough."""
    whole, top, bottom = (digits.lstrip("0") or "0" for digits in (whole, numerator, denominator))
    if len(top) > MAX_DIGITS or len(whole) + len(bottom) > MAX_DIGITS or int(top) >= int(bottom):
        return None
    return ratio("", int(whole) * int(bottom) + int(top), int(bottom))


def ratio(sign: str, top: int, bottom: int) -> str:
    """`top / bottom` as a decimal where one ends, else in lowest terms."""
    shared = gcd(top, bottom)
    top, bottom = top // shared, bottom // shared
    rest = bottom
    for prime in (2, 5):
        while rest % prime == 0:
            rest //= prime
    if rest > 1:
        return f"{sign}{top}/{bottom}"
    whole, remainder = divmod(top, bottom)
    digits = ""
    while remainder:
        digit, remainder = divmod(remainder * 10, bottom)
        digits += str(digit)
    return decimal(sign, str(whole), digits)
