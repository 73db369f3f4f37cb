# make demo and make test do everything from a fresh clone; they need Python 3.11 or newer and make.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
CORE := $(VENV)/.installed
TEST := $(VENV)/.installed-test
PEERS := benchmarks/peers
PEER_ENVIRONMENTS := omikuji napkinxc pecos sklearn
OLDEST := .venv-oldest
WHEEL := .venv-wheel
PAGES ?= $(patsubst %,docs/%.md,getting-started tutorial walkthroughs scores tail choosing-strength)

.PHONY: demo test test-all coverage test-oldest test-wheel lint site signatures docs pages wheel clean browser fuzz torture \
	bench-peers bench-linear bench-reading bench-proxml bench-label-graph bench-predict bench-certificate \
	bench-codes bench-codes-size bench-cbm bench-pairs bench-prototypes bench-estimates \
	bench-kept-weights bench-same-models bench-strength bench-generator

demo: $(CORE)
	$(BIN)/longtail demo

# Two workers, one core each: libraries that start their own threads would only slow each other down.
# What Python makes of our modules is kept, whatever the environment says: many processes read them.
PYTEST := PYTHONDONTWRITEBYTECODE= OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 --dist worksteal -q
FAST := -m "not exhaustive"

test: $(TEST) browser
	$(MAKE) --jobs=2 lint site
	$(PYTEST) $(FAST)

site: $(TEST)
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet --strict --site-dir $(VENV)/site

# The same plus the tests marked exhaustive: every method instead of one per base class, and data at full size.
test-all: FAST :=
test-all: test

# Which lines of src/ `make test` runs, including commands in their own processes; at least 95 %.
coverage: $(TEST) browser
	$(PYTEST) $(FAST) --cov --cov-report=term

# Hostile input of every kind, in child processes with limits; ARGS="--minutes 60 --seed 1 --kinds readers".
fuzz: $(TEST)
	OMP_NUM_THREADS=1 $(BIN)/python -m tests.fuzz $(ARGS)

# Kills, full disks, forks and threads while models are trained and saved; ARGS="--kills 1000 --seed 1".
torture: $(TEST)
	OMP_NUM_THREADS=1 $(BIN)/python -m tests.torture $(ARGS)

lint: $(TEST)
	$(BIN)/ruff check --quiet .
	$(BIN)/ruff format --quiet --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo 2>/dev/null || $(BIN)/lint-imports

# One test opens the report in Debian's chromium; it is skipped where chromium is not available.
browser:
	@command -v chromium >/dev/null && command -v chromedriver >/dev/null || { \
	[ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null && apt-get update -qq && \
	DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends \
	chromium chromium-driver >/dev/null; } || \
	echo "There is no chromium, and it cannot be installed here; the test that needs it is skipped."

# What the classes declare, for the page with all constructors and for `longtail methods`.
signatures: $(TEST)
	$(BIN)/python -m longtail.methods.catalogue docs/signatures.md

docs: $(TEST)
	$(BIN)/mkdocs serve

bench-linear: $(TEST)
	$(BIN)/python benchmarks/bench_linear.py $(ARGS)

bench-reading: $(TEST)
	$(BIN)/python benchmarks/bench_reading.py $(ARGS)

bench-peers: $(TEST) $(PEER_ENVIRONMENTS:%=$(PEERS)/.venv/%/.installed)
	$(BIN)/python benchmarks/bench_peers.py $(ARGS)

bench-proxml: $(TEST)
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

bench-estimates: $(TEST)
	$(BIN)/python benchmarks/bench_estimates.py $(ARGS)

bench-strength: $(TEST)
	$(BIN)/python benchmarks/bench_strength.py $(ARGS)

bench-kept-weights: $(TEST)
	$(BIN)/python benchmarks/bench_kept_weights.py $(ARGS)

bench-same-models: $(TEST)
	$(BIN)/python benchmarks/bench_same_models.py $(ARGS)

bench-generator: $(TEST)
	$(BIN)/python benchmarks/bench_generator.py $(ARGS)

# Runs the commands of these pages as a new user would, each task in a fresh environment with only the
# wheel, and puts their output into the pages.
pages: wheel
	$(PYTHON) tests/pages.py $(PAGES) --wheel dist/longtail-*.whl

wheel: $(TEST)
	rm -rf dist
	$(BIN)/python -m pip install --quiet --disable-pip-version-check build
	$(BIN)/python -m build

# Tests the wheel in its own environment without extras: what a user has after pip install.
test-wheel: wheel
	rm -rf $(WHEEL)
	$(PYTHON) -m venv $(WHEEL)
	$(WHEEL)/bin/python -m pip install --quiet --disable-pip-version-check dist/longtail-*.whl
	$(WHEEL)/bin/python tests/try_wheel.py

# Tests the contract, the readers, the store, the tables and the extras with the oldest allowed
# versions. torch is not installed there, so dbpc is left out.
test-oldest: $(OLDEST)/.installed
	OMP_NUM_THREADS=1 $(OLDEST)/bin/python -m pytest -q -p no:cacheprovider -k "not dbpc" \
	tests/test_contract.py tests/test_tagger.py tests/decisions tests/store tests/labels tests/data \
	tests/methods/neighbors tests/search/test_hamming.py tests/methods/mixtures/test_boosting.py \
	tests/methods/mixtures/test_boosting_store.py $(ARGS)
	$(OLDEST)/bin/longtail train --help >/dev/null

$(BIN)/python:
	$(PYTHON) -c 'import sys; sys.exit("longtail needs Python 3.11 or newer; set PYTHON=..." if sys.version_info < (3, 11) else 0)'
	$(PYTHON) -m venv $(VENV)

$(CORE): pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	touch $@

$(TEST): pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[test]"
	touch $@

$(OLDEST)/.installed: pyproject.toml oldest.txt
	$(PYTHON) -c 'import sys; sys.exit("the oldest versions need Python 3.11; set PYTHON=python3.11" if sys.version_info[:2] != (3, 11) else 0)'
	$(PYTHON) -m venv $(OLDEST)
	$(OLDEST)/bin/python -m pip install --quiet --disable-pip-version-check --constraint oldest.txt \
	--editable ".[boost,neighbors,report]" "pytest>=8.0" "hypothesis>=6.100" "pandas>=2.1,<2.2"
	touch $@

# Each peer gets its own environment; what alone-PEER.txt lists is installed without dependencies.
# If a peer cannot be installed, failed.txt says why and the benchmark skips it; the next run of make
# tries again.
$(PEERS)/.venv/%/.installed: $(PEERS)/requirements-%.txt
	@rm -rf $(@D) && mkdir -p $(@D)
	@{ $(PYTHON) -m venv $(@D) && \
	$(@D)/bin/python -m pip install --quiet --disable-pip-version-check -r $< && \
	{ [ ! -f $(PEERS)/alone-$*.txt ] || $(@D)/bin/python -m pip install --quiet \
	--disable-pip-version-check --no-deps -r $(PEERS)/alone-$*.txt; }; } 2>$(@D)/pip.txt && touch $@ || \
	{ mv $(@D)/pip.txt $(@D)/failed.txt; \
	echo "The peer $* cannot be installed here: $$(grep -i error $(@D)/failed.txt | tail -n 1)"; }

clean:
	rm -rf $(VENV) $(OLDEST) $(WHEEL) $(PEERS)/.venv dist build site .mypy_cache .ruff_cache .pytest_cache .hypothesis .fuzz
