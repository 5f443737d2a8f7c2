#!/usr/bin/env bash
# Installs the real clients that tests/peers need, each into a virtual environment of its own below
# .cohort/peers/, on top of .venv: torch and transformers are shared, and nothing in .venv changes.
#
#   tests/peers/install.sh             # all of them
#   tests/peers/install.sh trl verl    # some
set -euo pipefail
cd "$(dirname "$0")/../.."

declare -A packages=(
  [trl]="trl==1.16.0"
  [verl]="--no-deps verl==0.9.1 ray==2.60.0 tensordict==0.10.0 omegaconf==2.3.0 antlr4-python3-runtime==4.9.3 hydra-core==1.3.2 accelerate codetiming datasets dill multiprocess pandas pyarrow xxhash peft aiohttp aiohappyeyeballs aiosignal attrs frozenlist multidict propcache yarl cloudpickle orjson pyvers importlib_metadata zipp msgpack jsonschema jsonschema-specifications referencing rpds-py protobuf"
  [openrlhf]="--no-deps openrlhf==0.11.2 aiohttp aiohappyeyeballs aiosignal attrs frozenlist multidict propcache yarl pylatexenc"
)
shared=$(.venv/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
for name in "${@:-trl verl openrlhf}"; do
  for peer in $name; do
    home=.cohort/peers/$peer
    .venv/bin/python -m venv "$home"
    own=$("$home/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
    echo "import site; site.addsitedir('$shared')" >"$own/cohort.pth"
    # shellcheck disable=SC2086
    "$home/bin/pip" install --quiet --disable-pip-version-check ${packages[$peer]}
  done
done
