# Everything a newcomer needs; `make help` lists it.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.installed
# Tests wait more than they compute: at least three workers, whatever the machine.
CORES  := $(shell nproc 2>/dev/null || echo 2)
WORKERS ?= $(shell [ $(CORES) -gt 3 ] && echo $(CORES) || echo 3)

.PHONY: help install demo test soak lint bench bench-localize bench-localize-ci screenshots clean
.DEFAULT_GOAL := help

help: ## show this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /  make \1\t/' | expand -t 22

install: $(STAMP) ## make .venv with the product and its tools

$(STAMP): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.version_info < (3, 11) and sys.exit(f"Python 3.11 or newer is needed, {sys.executable} is {sys.version.split()[0]}; name another: make PYTHON=python3.12")'
	@echo 'Installing into $(VENV), once; it takes about a minute.'
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install -qq --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@touch $@

demo: $(STAMP) ## open Lanescope on a simulated fleet (without a terminal: run headless and print a report)
	@$(BIN)/lanescope demo

test: $(STAMP) ## run the tests (about 6 minutes)
	$(BIN)/python -m pytest -q -n $(WORKERS)

soak: $(STAMP) ## run the long fuzz and soak tests
	$(BIN)/python -m pytest -q -m slow

lint: $(STAMP) ## ruff, mypy (strict), import-linter, vermin over what runs on a node
	$(BIN)/ruff check .
	@mkdir -p .lint && ln -sfn .. .lint/lanescope
	MYPYPATH=.lint $(BIN)/mypy -p lanescope
	$(BIN)/lint-imports
	$(BIN)/vermin --quiet --no-tips --violations -t=3.6- fleet/node

bench: $(STAMP) ## print the figures, each with the command that makes it
	$(BIN)/python -m lanescope.benchmarks.all

bench-localize: $(STAMP) ## localize drawn faults beside today's practice; goes on where it was stopped
	$(BIN)/python -m lanescope.benchmarks.localization

bench-localize-ci: $(STAMP) ## hold the engine to the recorded intervals (about a minute)
	$(BIN)/python -m lanescope.benchmarks.localization.ci

screenshots: $(STAMP) ## take the pictures in screenshots/ anew
	$(BIN)/python screenshots/take.py

clean: ## remove what the commands above made
	rm -rf $(VENV) .lint build dist *.egg-info .hypothesis .mypy_cache .ruff_cache
