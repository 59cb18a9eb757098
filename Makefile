# From a bare clone: `make demo` and `make test` do everything, starting with their own .venv.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

# Neighbours in a file share fixtures: each worker begins with one half of all tests and steals from the other's end.
PYTEST = $(BIN)/python -m pytest -n 2 --dist worksteal

.PHONY: demo test package reproduce benchmark fuzz kill-test clean help

help:
	@echo "make demo       align English and French, print the figures, leave demo/report.html"
	@echo "make test       lint, types and all tests, with their coverage"
	@echo "make package    sdist and wheel in dist/, checked as an index would"
	@echo "make reproduce  the long reproductions (tests marked slow)"
	@echo "make benchmark  speed and memory, as ratios to named references"
	@echo "make fuzz       mutated files for every reader: COUNT=20000 SEED=0 SAVE=fuzz-failures"
	@echo "make kill-test  commands killed at any moment and run again: COUNT=100 SEED=0"

demo: $(STAMP)
	$(BIN)/isoglot demo -o demo

test: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(PYTEST) -m "not slow and not network" --cov

# Without isolation: what builds it is among the development packages, so nothing is downloaded once more.
package: $(STAMP)
	rm -rf dist
	$(BIN)/python -m build --no-isolation
	$(BIN)/python -m twine check --strict dist/*

reproduce: $(STAMP)
	$(BIN)/python -m pytest -m slow

benchmark: $(STAMP)
	$(BIN)/python benchmarks/load_text.py
	$(BIN)/python benchmarks/search.py
	$(BIN)/python benchmarks/aligners.py
	$(BIN)/python benchmarks/training.py
	$(BIN)/python benchmarks/encoders.py

fuzz: $(STAMP)
	$(BIN)/python -m tests.fuzz --count $(or $(COUNT),20000) --seed $(or $(SEED),0) --save $(or $(SAVE),fuzz-failures)

kill-test: $(STAMP)
	$(BIN)/python -m tests.kills --count $(or $(COUNT),100) --seed $(or $(SEED),0)

# torch first and exactly as pinned: another spelling pulls gigabytes of CUDA packages.
$(STAMP): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "Isoglot needs Python 3.11 or newer; name one with: make PYTHON=/path/to/python3"; exit 1; }
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt torch
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[dev]'
	touch $(STAMP)

clean:
	rm -rf $(VENV) demo dist fuzz-failures
