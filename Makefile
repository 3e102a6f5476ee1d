# Works from a fresh clone with python3, make and git; Go builds the Pulumi engine where it is not installed.
# Every target gets what it needs by itself, and needs no second try. Times are for 2 cores.
SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.PHONY: help setup toolchain demo test lint cases fidelity equivalence adoption lies mutants bench docs

PYTHON ?= python3
VENV := .venv/bin
# Puts what tools/toolchain.py got before PATH; it prints nothing when PATH has everything.
ENGINE = bin=$$($(VENV)/python tools/toolchain.py ensure) && export PATH="$${bin:+$$bin:}$$PATH"

help: ## this list
	@awk -F ' ## ' '/^[a-z]+:.* ## / { split($$1, name, ":"); printf "  make %-12s %s\n", name[1], $$2 }' $(MAKEFILE_LIST)

setup: ## uv, .venv, PostgreSQL's server programs (first time about 1 min, later 1 s)
	@echo "setup: uv, .venv and PostgreSQL (first time about 1 min, later 1 s)" >&2
	@$(PYTHON) tools/bootstrap.py
	@echo "setup: .venv is ready" >&2

toolchain: setup ## pulumi and its Scaleway plugin, built if they are not installed (first time about 8 min, later 1 s)
	@echo "toolchain: the Pulumi engine (first time about 8 min where it must be built, later 1 s)" >&2
	@$(ENGINE) && $(VENV)/python tools/toolchain.py status
	@echo "toolchain: ready" >&2

demo: setup ## a fleet drifts and is brought back, against a simulated cloud
	@echo "demo: the real engine against a simulated cloud (about 1 min; first time about 8 min more)" >&2
	@$(ENGINE) && $(VENV)/reconciler demo
	@echo "demo: done" >&2

lint: setup ## format, style, types, import layers, dependencies (about 30 s)
	@echo "lint: ruff, mypy, lint-imports, deptry (about 30 s)" >&2
	@$(VENV)/ruff check .
	@$(VENV)/ruff format --check .
	@$(VENV)/mypy --strict reconciler stacks tools tests
	@$(VENV)/lint-imports
	@$(VENV)/deptry .
	@echo "lint: clean" >&2

test: lint ## lint, then every test; ends with pytest's summary
	@echo "test: every test, also with the real engine (first time about 8 min more, to build it)" >&2
	@$(ENGINE) && $(VENV)/pytest -rs

fidelity: setup ## the simulator against recorded traffic of the live API (about 20 s)
	@echo "fidelity: every recorded exchange, replayed against the simulator (about 20 s)" >&2
	@$(VENV)/python -m tests.fidelity
	@echo "fidelity: done" >&2

cases: setup ## every case of tests/cases against the simulator: one verdict a line and a total
	@echo "cases: tests/cases against the simulator" >&2
	@$(VENV)/reconciler simulate run -j 2 tests/cases
	@echo "cases: done" >&2

equivalence: setup ## our verdicts against `pulumi refresh` on the same worlds
	@echo "equivalence: our findings and the engine's on the same worlds" >&2
	@$(ENGINE) && $(VENV)/python -m tests.e2e.equivalence
	@echo "equivalence: done" >&2

adoption: setup ## interrupted creates taken into the state, every shape (about 10 min)
	@echo "adoption: every shape of a machine, adopted through the gate, and one near miss each (about 10 min)" >&2
	@$(ENGINE) && $(VENV)/python -m tests.e2e.adoption
	@echo "adoption: done" >&2

lies: setup ## a thousand generated worlds with one lie each (about 5 min); ends with the counts
	@echo "lies: a thousand worlds, each with one lie: nothing may be destroyed that should stay (about 5 min)" >&2
	@$(VENV)/python -m tests.worlds --count 1000
	@echo "lies: done" >&2

mutants: setup ## broken copies of the product, each of which a test must catch
	@echo "mutants: each broken copy must make a test fail" >&2
	@$(ENGINE) && $(VENV)/python -m tests.mutants
	@echo "mutants: done" >&2

bench: setup ## the performance budgets
	@echo "bench: the performance budgets" >&2
	@$(ENGINE) && $(VENV)/python -m benchmarks
	@echo "bench: done" >&2

docs: setup ## the documentation, built into site/ and held against the code
	@echo "docs: every command and example in the documentation" >&2
	@$(VENV)/zensical build --strict --clean
	@$(ENGINE) && $(VENV)/pytest tests/docs tests/cli/test_docs.py
