# make demo and make test do everything from a fresh clone; they need Python 3.11 or newer and make.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
CORE := $(VENV)/.installed
TEST := $(VENV)/.installed-test
PEERS := benchmarks/peers

.PHONY: demo test lint docs wheel clean \
	bench-linear bench-reading bench-proxml bench-label-graph bench-predict bench-certificate \
	bench-codes bench-codes-size bench-cbm bench-pairs bench-prototypes

demo: $(CORE)
	$(BIN)/longtail demo

# Two workers with a core each: libraries that start threads of their own only wait for each other.
test: $(TEST) lint
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 --dist worksteal -q
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

bench-proxml: $(TEST) $(PEERS)/.venv/trees/.installed $(PEERS)/.venv/pecos/.tried
	$(BIN)/python benchmarks/bench_proxml.py $(ARGS)

bench-label-graph: $(TEST)
	$(BIN)/python benchmarks/bench_label_graph.py $(ARGS)

bench-predict: $(TEST)
	$(BIN)/python benchmarks/bench_predict.py $(ARGS)

bench-certificate: $(TEST)
	$(BIN)/python benchmarks/bench_certificate.py $(ARGS)

bench-codes: $(TEST)
	$(BIN)/python benchmarks/bench_codes.py $(ARGS)

bench-codes-size: $(TEST)
	$(BIN)/python benchmarks/bench_codes_size.py $(ARGS)

bench-cbm: $(TEST)
	$(BIN)/python benchmarks/bench_cbm.py $(ARGS)

bench-pairs: $(TEST)
	$(BIN)/python benchmarks/bench_pairs.py $(ARGS)

bench-prototypes: $(TEST)
	$(BIN)/python benchmarks/bench_prototypes.py $(ARGS)

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

# The peers of bench-proxml, each where its own dependencies can be met.
$(PEERS)/.venv/trees/.installed: $(PEERS)/requirements.txt
	$(PYTHON) -m venv $(@D)
	$(@D)/bin/python -m pip install --quiet --disable-pip-version-check -r $<
	touch $@

# PECOS wants old versions of numpy and scipy; where there are none, the benchmark goes without it.
$(PEERS)/.venv/pecos/.tried: $(PEERS)/requirements-pecos.txt
	$(PYTHON) -m venv $(@D)
	$(@D)/bin/python -m pip install --quiet --disable-pip-version-check -r $< && \
	$(@D)/bin/python -m pip install --quiet --disable-pip-version-check --no-deps libpecos==1.2.8 || \
	{ echo "PECOS cannot be installed here; the benchmark goes without it."; rm -rf $(@D)/bin; }
	touch $@

clean:
	rm -rf $(VENV) $(PEERS)/.venv dist build site .mypy_cache .ruff_cache .pytest_cache .hypothesis
