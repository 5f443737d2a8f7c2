"""What the verifier is measured on: made up from a fixed seed, or read from a file of cases."""

import json
import random
from pathlib import Path
from typing import NamedTuple

SEED = 3
MB = 1_000_000


class Pair(NamedTuple):
    """A completion, a ground truth, and whether the completion is right."""

    completion: str
    truth: str
    is_right: bool


def word_problems(num: int) -> list[tuple[str, str]]:
    """Completions as they end on word problems, a few ways to state the answer; half are right."""
    made = random.Random(SEED)
    endings = [
        "The answer is {}.",
        "So she has ${} left.\n#### {}",
        "Thus the total is $\\boxed{{{}}}$.",
        "That makes {} apples in all.",
        "**Final Answer: {}**",
    ]
    pairs = []
    for i in range(num):
        first, second = made.randint(2, 9999), made.randint(2, 999)
        answer, truth = first + second, first + second + i % 2
        work = f"First we add {first} and {second}, which gives {first + second}. Then we are done."
        pairs.append((f"{work}\n{endings[i % len(endings)].format(answer, answer)}", f"{truth}"))
    return pairs


def boxed(answer: str) -> str:
    """A short completion with the answer in a box."""
    return f"We simplify both sides and check it. The final answer is $\\boxed{{{answer}}}$."


def numeric_pairs(num: int) -> list[Pair]:
    """Integers, fractions and decimals, spelled in two ways; every other one is wrong."""
    made = random.Random(SEED)
    pairs = []
    for i in range(num):
        is_right = i % 2 == 0
        whole, factor = made.randint(1000, 10**7), made.randint(2, 9)
        part, off = 2 * made.randint(1, 10**4) + 1, 0 if is_right else 1
        truth, answer = [
            (f"{whole}", f"{whole + off:,}"),
            (
                f"\\frac{{{part}}}{{{whole}}}",
                f"\\dfrac{{{factor * part + off}}}{{{factor * whole}}}",
            ),
            (f"{whole / 8}", f"\\frac{{{whole + off}}}{{8}}"),
        ][i % 3]
        pairs.append(Pair(boxed(answer), truth, is_right))
    return pairs


def polynomial_pairs(num: int) -> list[Pair]:
    """Factored against expanded quadratics; every other one is wrong in one coefficient."""
    made = random.Random(SEED)
    pairs = []
    for i in range(num):
        is_right = i % 2 == 0
        a, b, c, d = (made.randint(2, 99) for _ in range(4))
        middle = a * d + b * c + (0 if is_right else 1)
        expanded = f"{a * c}x^2+{middle}x+{b * d}"
        pairs.append(Pair(boxed(f"({a}x+{b})({c}x+{d})"), expanded, is_right))
    return pairs


def megabytes() -> list[tuple[str, str, str]]:
    """Completions of 1 MB: prose, with a box at an end or after thinking."""
    prose = (
        "We add the numbers of apples that she was given and know that there are nine in a row. "
    )
    text = (prose * (MB // len(prose) + 1))[: MB - 100]
    return [
        ("prose and a box", text + "\\boxed{42}", "42"),
        ("a box and prose", "\\boxed{42}" + text, "42"),
        ("thinking and an answer", f"<think>{text}</think>The answer is 42.", "42"),
        ("prose alone", text, "42"),
    ]


def bombs() -> list[tuple[str, str, str]]:
    """Inputs on which graders hang, by kind: towers, huge factorials and sums, nesting, floods."""
    formulas = {
        "tower": "2^{4^{8^{16}}}",
        "power of a power": "9^{9^{9^9}}-9^{9^{9^8}}",
        "factorial of a factorial": "(10!)!",
        "huge factorial": "9999999999!",
        "difference of factorials": "1000000!-999999!",
        "huge binomial": "\\binom{10^{12}}{10^{11}}",
        "long sum": "\\sum_{k=1}^{10^{9}} \\frac{1}{k}",
        "long product": "\\prod_{k=1}^{10^{8}} k",
        "huge expansion": "(x+y+z)^{400}",
        "nested expansion": "((((x+1)^9+y)^9+z)^9+w)^9",
        "integral": "\\int_0^1 e^{x^{x^x}} \\, dx",
        "parentheses": "(" * 2000 + "7" + ")" * 2000,
        "braces": "{" * 3000 + "7",
        "continued fraction": "\\frac{1}{1+" * 400 + "1" + "}" * 400,
        "nested roots": "\\sqrt{2+" * 400 + "2" + "}" * 400,
        "many terms": "+".join(f"x_{{{i}}}" for i in range(1000)),
        "many factors": "".join(f"(x+{i})" for i in range(500)),
        "long number": "7" * 4000,
        "long decimal": "0." + "3" * 4000,
        "huge exponent": "10^{10^{10}}",
        "huge root": "\\sqrt[1000000]{2}",
        "nested sines": "\\sin(" * 200 + "x" + ")" * 200,
        "big matrix": "\\begin{pmatrix}" + "1&" * 900 + "1\\end{pmatrix}",
        "long list": ",".join(map(str, range(1200))),
    }
    floods = ["####", "answer ", "answer is ", "\\boxed{", "\\boxed{}", "{", "$", "<answer>", "1,"]
    return [
        *((name, f"\\boxed{{{formula}}}", "7") for name, formula in formulas.items()),
        *((f"{name}, twice", f"\\boxed{{{text}}}", text) for name, text in formulas.items()),
        *((f"flood of {mark!r}", (mark * 100_000)[:MB], "7") for mark in floods),
    ]


def bombs_of_file(path: Path) -> list[tuple[str, str, str]]:
    """Cases of the kind `hang` or `bomb`; none when there is no such file."""
    if not path.is_file():
        return []
    cases = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return [
        (case["id"], case["completion"], case["gold"])
        for case in cases
        if case.get("kind") in ("hang", "bomb")
    ]
