"""The C++ verifier side by side with its readable twin and with math-verify, in one run.

    python -m benchmarks.verifier [--json] [--math-verify-python PATH] [--cases FILE]

What is compared runs in turns, and the fastest turn of each counts, so that a busy moment hits
both. math-verify 0.9.0 (`pip install 'math-verify==0.9.0'`) runs in a child process
that is killed when it hangs; it may live in another environment, whose Python the option names.
Without it its two numbers are null. The last line is one JSON object with --json:

    normalize_vs_python         normalize_answer per call
    batch_vs_python             extract and compare, batches of 1,024, one thread
    numeric_vs_math_verify      the same against math-verify, integers, fractions and decimals
    polynomial_vs_math_verify   factored against expanded quadratics, right and wrong
    threads2_vs_1               two threads against one
    one_mb_ms                   the slowest of some completions of 1 MB
    max_bomb_ms                 the slowest of the inputs made to hang a grader
"""

import argparse
import json
import sys
import threading
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from benchmarks import _verifier_inputs as inputs
from benchmarks._math_verify import MathVerify
from cohort.grading import grade_math, grade_math_batch, normalize_answer, reference

CASES = Path(__file__).parents[2] / "shared" / "reference" / "verifier_cases.jsonl"
BATCH = 1024
TURNS = 7
ANSWERS = ["$1,234.50", r"\frac{10}{4}", "-3", "25%", "12 apples", "0.5000", "5 cm", "42", "x^{2}"]


def seconds(work: Callable[[], object]) -> float:
    """How long one call takes."""
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def fastest(*works: Callable[[], object], turns: int = TURNS) -> list[float]:
    """Seconds of the fastest turn of each, run one after the other in every turn."""
    rounds = [[seconds(work) for work in works] for _ in range(turns)]
    return [min(times) for times in zip(*rounds, strict=True)]


def normalize_vs_python() -> float:
    """How many times faster a call of the normal form is than its twin."""
    answers = ANSWERS * 200
    native, python = fastest(
        lambda: [normalize_answer(answer) for answer in answers],
        lambda: [reference.normalize_answer(answer) for answer in answers],
    )
    report("normalize_answer per call", native / len(answers), python / len(answers))
    return python / native


def batch_vs_python() -> float:
    """How many times faster a batch is than the twin on the same pairs."""
    completions, truths = zip(*inputs.word_problems(BATCH), strict=True)
    pairs = list(zip(completions, truths, strict=True))
    verdicts = grade_math_batch(completions, truths)
    if verdicts != [reference.grade_math(*pair) for pair in pairs]:
        raise SystemExit("the twins disagree on the pairs of the benchmark: nothing was measured")
    native, python = fastest(
        lambda: grade_math_batch(completions, truths),
        lambda: [reference.grade_math(*pair) for pair in pairs],
    )
    report("extract and compare, by a batch", native / BATCH, python / BATCH)
    return python / native


def vs_math_verify(child: MathVerify, name: str, pairs: Sequence[inputs.Pair]) -> float | None:
    """How many times faster a batch is than math-verify; None when that does not run.

    Every chunk has pairs that neither grader has seen, because math-verify keeps a cache.
    """
    chunk = len(pairs) // TURNS
    native_times, other_times, agreed, wrong = [], [], 0, 0
    for start in range(0, chunk * TURNS, chunk):
        part = pairs[start : start + chunk]
        reply = child.grade([(pair.completion, pair.truth) for pair in part])
        if reply is None:
            return None
        completions = [pair.completion for pair in part]
        truths = [pair.truth for pair in part]
        native_times.append(seconds(partial(grade_math_batch, completions, truths)))
        other_times.append(reply.seconds)
        verdicts = [verdict == "correct" for verdict in grade_math_batch(completions, truths)]
        wrong += sum(v != pair.is_right for v, pair in zip(verdicts, part, strict=True))
        agreed += sum(ours == theirs for ours, theirs in zip(verdicts, reply.verdicts, strict=True))
    native, other = min(native_times) / chunk, min(other_times) / chunk
    report(f"{name}, against math-verify", native, other)
    print(f"    {wrong} of our verdicts wrong; the same on {agreed} of {chunk * TURNS} pairs")
    return other / native


def threads2_vs_1() -> float:
    """How many times more pairs two threads grade in a second than one."""
    completions, truths = zip(*inputs.word_problems(8 * BATCH), strict=True)

    def grade() -> None:
        grade_math_batch(completions, truths)

    def in_two_threads() -> None:
        other = threading.Thread(target=grade)
        other.start()
        grade()
        other.join()

    one, two = fastest(grade, in_two_threads)
    print(f"two threads: {one * 1e3:.2f} ms for one batch alone, {two * 1e3:.2f} ms for two")
    return 2 * one / two


def slowest_ms(pairs: Sequence[tuple[str, str, str]]) -> float:
    """Milliseconds of the slowest named pair, each by its fastest of three turns."""
    times = {}
    for name, completion, truth in pairs:
        completion.encode()  # CPython keeps the UTF-8 that the grader reads
        times[name] = fastest(partial(grade_math, completion, truth), turns=3)[0]
    name = max(times, key=times.__getitem__)
    print(f"slowest of {len(pairs)}: {name} with {times[name] * 1e3:.3f} ms")
    return times[name] * 1e3


def report(what: str, native: float, other: float) -> None:
    """One line for people."""
    print(f"{what}: {native * 1e6:.3f} us against {other * 1e6:.1f} us, {other / native:.0f} times")


def main() -> None:
    """Measure everything and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--json", action="store_true", help="end with one JSON object")
    parser.add_argument("--math-verify-python", default=sys.executable, metavar="PATH")
    parser.add_argument("--cases", type=Path, default=CASES, help="more inputs that hang graders")
    args = parser.parse_args()
    result: dict[str, float | None] = {
        "normalize_vs_python": normalize_vs_python(),
        "batch_vs_python": batch_vs_python(),
    }
    with MathVerify(args.math_verify_python) as child:
        numeric, polynomial = inputs.numeric_pairs(7 * 256), inputs.polynomial_pairs(7 * 64)
        result["numeric_vs_math_verify"] = vs_math_verify(child, "numbers", numeric)
        result["polynomial_vs_math_verify"] = vs_math_verify(child, "polynomials", polynomial)
    result["threads2_vs_1"] = threads2_vs_1()
    result["one_mb_ms"] = slowest_ms(inputs.megabytes())
    result["max_bomb_ms"] = slowest_ms([*inputs.bombs(), *inputs.bombs_of_file(args.cases)])
    if args.json:
        rounded = {name: value and round(value, 3) for name, value in result.items()}
        print(json.dumps(rounded))


if __name__ == "__main__":
    main()
