#!/usr/bin/env bash
# Builds the fuzz target with AddressSanitizer and UndefinedBehaviorSanitizer, and runs it. It needs
# clang 16 or newer: CXX=clang++-16 cpp/fuzz/run.sh
#
#   cpp/fuzz/run.sh [SECONDS] [CASES.jsonl]
#
# Seeds are seeds.txt and, if it is given, a file with one JSON object on each line that has
# `completion` and `gold`. New inputs stay in build/fuzz/corpus, findings in build/fuzz/findings.
set -euo pipefail
cd "$(dirname "$0")/../.."
seconds=${1:-600}
cases=${2:-}
build=${BUILD:-build/fuzz}

cmake -S cpp -B "$build" -DCMAKE_CXX_COMPILER="${CXX:-clang++}" -DCOHORT_FUZZ=ON >/dev/null
cmake --build "$build" --target fuzz_grade --parallel 2
mkdir -p "$build/corpus" "$build/findings"
python3 - "$build/corpus" "$cases" <<'PYTHON'
import json, sys
from pathlib import Path

corpus, cases = Path(sys.argv[1]), sys.argv[2]
lines = Path("cpp/fuzz/seeds.txt").read_text(encoding="utf-8").splitlines()
pairs = [line.split("\t") for line in lines]
if cases:
    for line in Path(cases).read_text(encoding="utf-8").splitlines():
        case = json.loads(line)
        pairs.append([case["completion"], case["gold"]])
for number, pair in enumerate(pairs):
    (corpus / f"seed-{number}").write_text("\x1e".join(pair), encoding="utf-8")
PYTHON
exec "$build/fuzz_grade" -max_total_time="$seconds" -timeout=5 -rss_limit_mb=2048 -max_len=2048 \
    -dict=cpp/fuzz/marks.dict -artifact_prefix="$build/findings/" -print_final_stats=1 "$build/corpus"
