"""What public graders disagree about, as settings; the defaults are Cohort's (docs/verifier.md)."""

from typing import Literal, TypedDict


class Policy(TypedDict, total=False):
    """Keyword arguments of the grading functions; `cpp/bindings/policy.cpp` has the same words."""

    percent: Literal["gold", "exact"]
    """`gold`: the truth decides, 25 % is 25 and 0.25; `exact`: it is 0.25."""
    units: Literal["convert", "same", "required"]
    """`convert`: a missing unit is fine, 5 m is 500 cm; `same`: no conversion; `required`: an
    answer needs a unit when the truth has one."""
    decimals: Literal["rounded", "exact"]
    """`rounded`: a decimal truth stands for what rounds to it, and a decimal answer to an exact
    truth needs `digits` significant digits; `exact`: decimals are exact numbers."""
    digits: int
    """Significant digits of a decimal answer to an exact truth, 6 unless said."""
    unsolved: Literal["refuse", "accept"]
    """Whether an equation or inequality that is still to be solved is an answer."""
    open_forms: Literal["accept", "refuse"]
    r"""Whether an answer may leave a `\\sum`, `\\prod`, integral or limit open."""
    assignments: Literal["value", "exact"]
    """`value`: x = 5 is 5 and f(x) = 2x is 2x; `exact`: an equation is only an equation."""
    lists: Literal["unordered", "ordered"]
    """Whether the order of a list without brackets counts."""
    inequalities: Literal["interval", "exact"]
    """`interval`: x < 3 is the interval below 3; `exact`: it is only an inequality."""
    commitment: Literal["single", "last"]
    """`single`: an answer that is hedged or given twice differently is ambiguous; `last`: the last
    one counts."""
    roots: Literal["real", "principal"]
    """The cube root of -8: -2 unless the truth is complex, or always the principal one."""
    log: Literal["ten", "e"]
    r"""The base of a bare `\\log`."""
