# Needs Python 3.11+, make and npm. Everything else is installed by the targets themselves, into .venv and
# tests/servers/npm/node_modules; a second run finds it there.

PYTHON ?= python3
BIN := .venv/bin
SOAK_SECONDS ?= 600
SOAK_SEED ?= 1
STORM_SECONDS ?= 60
STORM_SEED ?= 1
PYRIGHT := tests/servers/npm/node_modules/.bin/pyright

.PHONY: help demo demo-console test check check-fast fix bench drills lock set-up-demo set-up-dev lint types layers architecture soak storm clean

help: ## what there is
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-13s %s\n", $$1, $$2 }' Makefile

demo: set-up-demo ## the main job, killed and recovered, on SQLite: no keys, no network
	@$(BIN)/counterfoil demo

demo-console: set-up-demo ## the same, and then the console, open at the run that waits for a person
	@$(BIN)/counterfoil demo --console

test: set-up-dev ## everything: checks, then every suite, with seconds for each
	@$(MAKE) --no-print-directory --keep-going lint layers types
	@$(BIN)/python scripts/run_suites.py

check: set-up-dev ## style, types, layers, sizes, words
	@$(MAKE) --no-print-directory --keep-going lint layers types architecture

check-fast: set-up-dev ## what takes seconds: check without the types
	@$(MAKE) --no-print-directory --keep-going lint layers architecture

fix: set-up-dev ## format, and mend what can be mended without thinking
	@$(BIN)/ruff check --quiet --fix .
	@$(BIN)/ruff format --quiet .

bench: set-up-dev ## our speed beside the plain loop and peers, in one run
	@$(BIN)/python -m benchmarks

soak: set-up-dev ## simulated schedules for SOAK_SECONDS (600), from SOAK_SEED; prints how many a second
	@$(BIN)/counterfoil simulate --seed $(SOAK_SEED) --seconds $(SOAK_SECONDS)

storm: set-up-dev ## four workers and their PostgreSQL killed, frozen and cut off for STORM_SECONDS (60), from STORM_SEED; one line of JSON
	@$(BIN)/python -m tests.crash.chaos --seed $(STORM_SEED) --seconds $(STORM_SECONDS)

drills: set-up-dev ## the examples' whole matrix of failures, minutes each; writes docs/drills. DB=own: on a PostgreSQL of its own, or its address
	@$(BIN)/python scripts/drill_examples.py $(if $(DB),--db '$(DB)')
	@$(BIN)/python -m tests.docs.written

lock: ## write the requirement files and the npm lock anew (needs uv)
	@scripts/lock.sh $(LOCK_OPTIONS)

clean: ## forget what was installed and measured
	rm -rf .venv .build tests/servers/npm/node_modules

# --- steps -----------------------------------------------------------------------------------------------------------

set-up-demo:
	@$(PYTHON) scripts/set_up.py demo

set-up-dev:
	@$(PYTHON) scripts/set_up.py dev

lint:
	@echo "check: ruff"
	@$(BIN)/ruff check --quiet --output-format concise .
	@$(BIN)/ruff format --quiet --check . || { $(BIN)/ruff format --check . ; echo "make fix formats them"; exit 1; }

layers:
	@echo "check: import-linter"
	@mkdir -p .build && { $(BIN)/lint-imports --no-logo --no-cache >.build/layers.txt 2>&1 || { cat .build/layers.txt; exit 1; }; }

types:
	@echo "check: pyright"
	@$(PYRIGHT) --pythonpath $(BIN)/python --warnings

architecture:
	@echo "check: sizes, words, names"
	@$(BIN)/python -m pytest -q -o cache_dir=.build/pytest-architecture tests/architecture
