# From a bare clone: `make demo` and `make test` do everything, starting with their own .venv.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.PHONY: demo test check reproduce benchmark clean help

help:
	@echo "make demo       align English and French, print the figures, leave demo/report.html"
	@echo "make test       lint, types and all tests"
	@echo "make reproduce  the long reproductions (tests marked slow)"
	@echo "make benchmark  speed and memory, as ratios to named references"

demo: $(STAMP)
	$(BIN)/isoglot demo -o demo

test: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python -m pytest -n 2 -m "not slow and not network"

reproduce: $(STAMP)
	$(BIN)/python -m pytest -m slow

benchmark: $(STAMP)
	$(BIN)/python benchmarks/load_text.py
	$(BIN)/python benchmarks/search.py
	$(BIN)/python benchmarks/aligners.py
	$(BIN)/python benchmarks/training.py
	$(BIN)/python benchmarks/encoders.py

# torch first and exactly as pinned: another spelling pulls gigabytes of CUDA packages.
$(STAMP): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "Isoglot needs Python 3.11 or newer; name one with: make PYTHON=/path/to/python3"; exit 1; }
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt torch
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[dev]'
	touch $(STAMP)

clean:
	rm -rf $(VENV) demo
