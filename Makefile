# make demo and make test do everything from a fresh clone; they need Python 3.11 or newer and make.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
CORE := $(VENV)/.installed
TEST := $(VENV)/.installed-test

.PHONY: demo test lint docs bench-linear bench-reading wheel clean

demo: $(CORE)
	$(BIN)/longtail demo

test: $(TEST) lint
	$(BIN)/python -m pytest -n 2 --dist worksteal -q
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet --strict --site-dir $(VENV)/site

lint: $(TEST)
	$(BIN)/ruff check --quiet .
	$(BIN)/ruff format --quiet --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo 2>/dev/null || $(BIN)/lint-imports

docs: $(TEST)
	$(BIN)/mkdocs serve

bench-linear: $(TEST)
	$(BIN)/python benchmarks/bench_linear.py

bench-reading: $(TEST)
	$(BIN)/python benchmarks/bench_reading.py

wheel: $(TEST)
	$(BIN)/python -m pip install --quiet build
	$(BIN)/python -m build

$(BIN)/python:
	$(PYTHON) -c 'import sys; sys.exit("longtail needs Python 3.11 or newer; set PYTHON=..." if sys.version_info < (3, 11) else 0)'
	$(PYTHON) -m venv $(VENV)

$(CORE): pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	touch $@

$(TEST): pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[test]"
	touch $@

clean:
	rm -rf $(VENV) dist build site .mypy_cache .ruff_cache .pytest_cache .hypothesis
