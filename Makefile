# Two commands do everything on a fresh machine: `make demo` and `make test`.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

VENV := .venv
BIN := $(VENV)/bin
PYTHON := $(BIN)/python
INSTALLED := $(VENV)/.installed
WARM := $(VENV)/.warm

# Says nothing unless the command fails.
quietly = output="$$($(1) 2>&1)" || { echo "$$output"; exit 1; }

# For recipes that start Spark.
WITH_JAVA := JAVA_HOME="$$(scripts/java.sh $(PYTHON))"; export JAVA_HOME;

.PHONY: help setup java demo test cluster integration browser pictures soak check format bench bench-peers wheel kernels docs release clean

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-11s %s\n", $$1, $$2}' Makefile

setup: $(INSTALLED) java $(WARM) ## .venv with all that is needed, Java, compiled kernels

$(INSTALLED): pyproject.toml constraints.txt scripts/venv.sh
	@scripts/venv.sh $(VENV)
	@echo "installing Presage and what it needs into $(VENV) (about 1.8 GB on disk; a minute or more the first time)"
	@$(PYTHON) -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[test,docs]'
	@touch $@

java: $(INSTALLED)
	@scripts/java.sh $(PYTHON) >/dev/null

$(WARM): $(INSTALLED) $(shell find src/presage/operators src/presage/arrays -path "*/kernel/*.py" -o -path "*/arrays/*.py")
	@echo "compiling the kernels"
	@$(PYTHON) -m presage.compile_kernels
	@touch $@

# Compiles only the kernels that it uses.
demo: $(INSTALLED) java ## a smart building and a campus: events, queries, results
	@$(WITH_JAVA) $(BIN)/presage demo building
	@$(WITH_JAVA) $(BIN)/presage demo campus

test: setup ## the whole test suite, in two processes: what needs Spark, and what does not
	@$(WITH_JAVA) $(PYTHON) scripts/run_tests.py

# Every capability on Spark; the rest of the suite does not depend on where Spark runs.
ON_CLUSTER := $(addprefix tests/spark/test_,queries.py patterns.py match_recognize_frames.py knowledge.py sequences.py \
	predictions.py recall.py recall_live.py live.py log_spark_frames.py engine.py)

cluster: setup ## on a standalone cluster of two workers, and there over Spark Connect: every capability, and workers killed
	@$(PYTHON) -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[cluster]'
	@$(WITH_JAVA) for where in cluster connect; do $(PYTHON) -m pytest -q --on $$where tests/cluster $(ON_CLUSTER); done

integration: setup ## tests against real servers, which it installs (400 MB; some need Go or npm) and starts on the loopback
	@scripts/mosquitto.sh
	@$(PYTHON) -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[integration]'
	@$(WITH_JAVA) $(PYTHON) -m pytest -q tests/integration

browser: setup ## the console in a real browser, which it installs where it may; pictures are in tests/browser/pictures
	@scripts/chromium.sh
	@$(PYTHON) -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[browser]'
	@$(WITH_JAVA) $(PYTHON) -m pytest -q tests/browser

pictures: setup ## the pictures of the console in docs/images, made anew by one of its tests
	@scripts/chromium.sh
	@$(PYTHON) -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[browser]'
	@$(WITH_JAVA) $(PYTHON) -m pytest -q tests/browser/test_documented_pictures.py
	@cp tests/browser/pictures/console-*.png docs/images

# Another seed each time, unless one is given.
ifndef SEED
SEED := $(shell od -An -N6 -tu8 /dev/urandom | tr -d ' ')
endif
EXAMPLES := 500

soak: setup ## every property with a fresh seed and five times the examples, kill -9 at thirty random moments, a hundred takeovers (an hour and a half)
	@echo "soak: seed $(SEED); the same again: make soak SEED=$(SEED)"
	@$(WITH_JAVA) HYPOTHESIS_PROFILE=soak SOAK_EXAMPLES=$(EXAMPLES) $(PYTHON) -m pytest -q -m 'soak or hypothesis' \
		--hypothesis-seed=$(SEED)
	@$(PYTHON) -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[integration]'
	@HYPOTHESIS_PROFILE=soak $(PYTHON) -m pytest -q -m soak tests/integration

check: $(INSTALLED) ## format, lint, types, imports, files made from others
	@$(BIN)/ruff format --check --quiet . || { echo "run: make format"; exit 1; }
	@$(BIN)/ruff check --quiet .
	@$(BIN)/mypy
	@$(call quietly,$(BIN)/lint-imports)
	@$(PYTHON) -m presage.lang.build --check
	@$(PYTHON) scripts/functions_page.py --check
	@echo "check: all well"

format: $(INSTALLED) ## bring the code into its format
	@$(BIN)/ruff check --quiet --fix . || true
	@$(BIN)/ruff format --quiet .

bench: setup ## speed, as ratios to Spark's own operators; not the hour of benchmarks/soak.py
	@$(WITH_JAVA) for script in $(filter-out benchmarks/soak.py,$(wildcard benchmarks/*.py)); do $(PYTHON) $$script; done

bench-peers: setup ## patterns against Flink SQL and Esper, which it installs beside itself (1 GB, ten minutes); TICKS=200000 for a try
	@$(WITH_JAVA) cd benchmarks; $(abspath $(PYTHON)) -m peers $(TICKS)

wheel: $(INSTALLED) java ## dist/*.whl for this Python and platform, with compiled kernels; tries it in an environment of its own
	@$(PYTHON) -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[cluster]'
	@$(PYTHON) scripts/wheel.py
	@$(WITH_JAVA) $(PYTHON) scripts/try_wheel.py

kernels: setup ## every kernel on random inputs, compiled for this processor and for any: the same bits (minutes)
	@$(PYTHON) scripts/same_bits.py

docs: $(INSTALLED) ## the documentation as pages in site/
	@# Not with --quiet: that would hide the warnings from --strict, too.
	@$(call quietly,$(BIN)/mkdocs build --strict --site-dir site)
	@echo "site/index.html"

release: setup ## the wheel and the source distribution in dist/, each tried in a fresh environment (ten minutes)
	@$(PYTHON) -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[release]'
	@$(WITH_JAVA) $(PYTHON) scripts/try_release.py

clean: ## remove all that was made here
	@rm -rf $(VENV) site build dist .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis benchmarks/peers/.installed tests/integration/.installed tests/browser/pictures
	@find src tests benchmarks -name __pycache__ -prune -exec rm -rf {} + 2>/dev/null || true
