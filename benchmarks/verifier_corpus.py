"""The grader against cases whose right verdict is known: how many it gets right, and how fast.

    python -m benchmarks.verifier_corpus [FILE] [--json]

FILE has one JSON object on each line: `id`, `gold`, `completion`, `expected` (whether the
completion is right) and, for the reader, `kind` and `note`. Without it the reference cases are
read. A miss is a case whose verdict is `correct` and should not be (`accepted`: the worst that a
grader can do), or is something else and should be (`refused`). Times are the best of three, one
thread. With --json the last line is one JSON object.
"""

import argparse
import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from cohort.grading import grade_math

DEFAULT = Path(__file__).parents[2] / "shared" / "reference" / "verifier_cases.jsonl"
REPEATS = 3


def timed_verdict(completion: str, gold: str) -> tuple[str, float]:
    """The verdict and the milliseconds of the fastest of some repeats."""
    times = []
    for _ in range(REPEATS):
        started = time.perf_counter()
        verdict = grade_math(completion, gold)
        times.append(time.perf_counter() - started)
    return verdict, min(times) * 1000


def run(cases: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Grade all cases: counts, the slowest case, and the misses."""
    misses, slowest, max_ms = [], "", 0.0
    for case in cases:
        verdict, ms = timed_verdict(case["completion"], case["gold"])
        if ms > max_ms:
            slowest, max_ms = case["id"], ms
        if (verdict == "correct") is not case["expected"]:
            kind, expected = case.get("kind", ""), case["expected"]
            misses.append(
                {"id": case["id"], "kind": kind, "verdict": verdict, "expected": expected}
            )
    return {
        "right": len(cases) - len(misses),
        "total": len(cases),
        "false_positives": sum(not miss["expected"] for miss in misses),
        "max_ms": round(max_ms, 3),
        "slowest": slowest,
        "misses": misses,
    }


def show(cases: Sequence[dict[str, Any]], result: dict[str, Any]) -> None:
    """The misses for people, the accepted ones first."""
    by_id = {case["id"]: case for case in cases}
    for miss in sorted(result["misses"], key=lambda miss: (miss["expected"], miss["kind"])):
        case = by_id[miss["id"]]
        what = "refused " if miss["expected"] else "ACCEPTED"
        completion = case["completion"]
        if len(completion) > 100:
            completion = completion[:60] + " ... " + completion[-35:]
        print(f"{what} {miss['id']} {miss['kind']}: {miss['verdict']}")
        print(f"    {case['gold'][:100]!r} <- {completion!r}  {case.get('note', '')}")
    print(
        f"{result['right']} of {result['total']} right, {result['false_positives']} wrong answers "
        f"accepted, slowest {result['slowest']} with {result['max_ms']} ms"
    )


def main() -> None:
    """Read the cases, grade them, print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("file", nargs="?", type=Path, default=DEFAULT, metavar="FILE")
    parser.add_argument("--json", action="store_true", help="end with one JSON object")
    args = parser.parse_args()
    if not args.file.is_file():
        raise SystemExit(f"no cases at {args.file}: name a JSONL file with the cases")
    lines = args.file.read_text(encoding="utf-8").splitlines()
    cases = [json.loads(line) for line in lines if line.strip()]
    result = run(cases)
    show(cases, result)
    if args.json:
        print(json.dumps(result))


if __name__ == "__main__":
    main()
