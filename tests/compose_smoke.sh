#!/usr/bin/env bash
# The whole system on a real container engine: builds, starts it with two rollout workers, trains a
# run through POST /train, kills a worker in the middle, and checks what the compose file promises.
#
#   tests/compose_smoke.sh [CONFIG]     default: configs/tiny.yaml (a minute or two after the build)
#
# Needs a Docker engine with `docker compose` or `docker-compose`. Ports 8000 and 8002 must be free.
# Removes its own containers and volumes at the end, whatever happens; KEEP=1 leaves them.
set -euo pipefail
cd "$(dirname "$0")/.."
config=${1:-configs/tiny.yaml}
export COMPOSE_PROJECT_NAME=cohortsmoke DOCKER_BUILDKIT=${DOCKER_BUILDKIT:-0} COMPOSE_DOCKER_CLI_BUILD=${COMPOSE_DOCKER_CLI_BUILD:-0}
if docker compose version >/dev/null 2>&1; then compose=(docker compose); else compose=(docker-compose); fi

say() { printf '\n== %s\n' "$*"; }
fail() { printf 'FAILED: %s\n' "$*" >&2; exit 1; }
field() { python3 -c 'import json,sys; print(json.load(sys.stdin)[sys.argv[1]])' "$1"; }
inside() { local service=$1; shift; docker exec "$("${compose[@]}" ps -q "$service" | head -n 1)" "$@"; }

clean_up() {
  status=$?
  if [ "$status" -ne 0 ]; then "${compose[@]}" logs --tail 40 || true; fi
  [ "${KEEP:-0}" = 1 ] || "${compose[@]}" down --volumes --timeout 5 >/dev/null 2>&1 || true
  exit "$status"
}
trap clean_up EXIT

say "build and start, two rollout workers"
"${compose[@]}" build --quiet
"${compose[@]}" up -d --scale rollout=2
for _ in $(seq 90); do
  curl -fsS localhost:8000/ready >/dev/null 2>&1 && break
  sleep 2
done
curl -fsS localhost:8000/ready || fail "the trainer is not ready"

say "torch is only where tensors are"
for service in rollout reward sandbox; do
  docker run --rm "cohort-$service" python -c 'import importlib.util, sys; sys.exit(importlib.util.find_spec("torch") is not None)' \
    || fail "the image of $service has torch in it"
done

say "published on loopback only; nobody is root; the sandbox has no Redis in sight and no way out"
published=$(docker ps --filter "name=$COMPOSE_PROJECT_NAME" --format '{{.Ports}}' | tr ',' '\n' | grep -e '->' || true)
if grep -v '127.0.0.1:' <<<"$published"; then fail "a port is published beyond loopback"; fi
for service in generator rollout reward sandbox trainer; do
  [ "$(inside "$service" id -u)" != 0 ] || fail "$service runs as root"
done
inside sandbox python - <<'PY' || fail "the sandbox can reach what it must not"
import socket, sys
def reached(host, port):
    try:
        socket.create_connection((host, port), 2).close()
        return True
    except OSError:
        return False
sys.exit(any(reached(h, p) for h, p in [("redis", 6379), ("trainer", 8000), ("1.1.1.1", 443)]))
PY

say "a code reward goes reward -> sandbox"
score=$(curl -fsS localhost:8002/v1/score -H 'Content-Type: application/json' --data-binary @- <<'JSON'
{"items": [
  {"id": "right", "completion": "```python\nprint(int(input()) + 1)\n```", "ground_truth": {"cases": [{"stdin": "41\n", "expected_stdout": "42\n"}]}, "verifier": "code"},
  {"id": "wrong", "completion": "```python\nprint(7)\n```", "ground_truth": {"cases": [{"stdin": "41\n", "expected_stdout": "42\n"}]}, "verifier": "code"}]}
JSON
)
echo "$score"
python3 -c 'import json,sys; r=json.loads(sys.argv[1])["results"]; sys.exit([x["score"] for x in r] != [1.0, 0.0])' "$score" || fail "code was scored wrongly"

say "train $config"
started=$(curl -fsS -X POST localhost:8000/train -H 'Content-Type: application/yaml' --data-binary "@$config")
echo "$started"
run=$(field run_id <<<"$started")
killed=0
for _ in $(seq 600); do
  view=$(curl -fsS "localhost:8000/runs/$run")
  state=$(field state <<<"$view")
  step=$(field step <<<"$view")
  if [ "$killed" = 0 ] && [ "$step" -ge 2 ]; then
    say "kill one of the two rollout workers at step $step"
    docker kill -s KILL "$("${compose[@]}" ps -q rollout | head -n 1)" >/dev/null
    killed=1
  fi
  case $state in succeeded | failed | cancelled) break ;; esac
  sleep 1
done
echo "$view"
[ "$state" = succeeded ] || fail "the run is $state"
[ "$killed" = 1 ] || fail "the run ended before a worker could be killed"
inside trainer sh -c "ls /data/runs/$run /data/runs/$run/model && cat /data/runs/$run/summary.json"

say "every group was trained on exactly once"
inside trainer python - "$run" <<'PY' || fail "the ledger is wrong"
import json, sys
rows = [json.loads(line) for line in open(f"/data/runs/{sys.argv[1]}/ledger.jsonl")]
trained = [row["group_id"].rsplit("-", 1)[0] for row in rows if row["fate"] == "trained"]
print(len(trained), "groups trained,", len(set(trained)), "distinct")
sys.exit(not trained or len(trained) != len(set(trained)))
PY
say "passed"
