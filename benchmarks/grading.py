"""The C++ twin of the grading against the readable Python one, side by side in one run.

    python benchmarks/grading.py [--items 4096]

Both grade the same completions; the batch goes through C++ in one call. The last line is one JSON
object: microseconds per item and the ratios.
"""

import argparse
import json
import time
from collections.abc import Callable

from cohort.grading import grade_math_batch, normalize_answer, reference

ANSWERS = ["$1,234.50", r"\frac{10}{4}", "-3", "25%", "12 apples", "0.5000", "1e3", "x"]


def best_us(work: Callable[[], object], num_items: int, repeats: int = 5) -> float:
    """Microseconds per item, the fastest of some repeats."""
    seconds = []
    for _ in range(repeats):
        started = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - started)
    return min(seconds) / num_items * 1e6


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--items", type=int, default=4096)
    num_items = parser.parse_args().items
    answers = [ANSWERS[i % len(ANSWERS)] for i in range(num_items)]
    completions = [
        f"First we add {i} and 7, which gives {i + 7}. Then we halve it.\nThe answer is {answer}."
        for i, answer in enumerate(answers)
    ]
    truths = [answers[0]] * num_items
    native_verdicts = grade_math_batch(completions, truths)
    pairs = list(zip(completions, truths, strict=True))
    if native_verdicts != [reference.grade_math(*pair) for pair in pairs]:
        raise SystemExit("the twins disagree: nothing was measured")
    result = {
        "normalize_us": best_us(lambda: [normalize_answer(a) for a in answers], num_items),
        "normalize_python_us": best_us(
            lambda: [reference.normalize_answer(a) for a in answers], num_items
        ),
        "grade_us": best_us(lambda: grade_math_batch(completions, truths), num_items),
        "grade_python_us": best_us(
            lambda: [reference.grade_math(*pair) for pair in pairs], num_items
        ),
    }
    result["normalize_ratio"] = result["normalize_python_us"] / result["normalize_us"]
    result["grade_ratio"] = result["grade_python_us"] / result["grade_us"]
    print(json.dumps({name: round(value, 3) for name, value in result.items()}))


if __name__ == "__main__":
    main()
