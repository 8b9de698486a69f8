# Every target sets up .venv first if it has to; `make help` lists the targets.
PYTHON ?= python3
PORT ?= 8000
BIN := .venv/bin
NOTEBOOKS := $(wildcard notebooks/*.ipynb)
SPARK := $(shell command -v java)$(JAVA_HOME)$(filter true,$(CI))
export PATH := $(CURDIR)/$(BIN):$(PATH)
# One thread for each process: the jobs and test workers already fill the cores, and sums keep their order.
export OMP_NUM_THREADS := 1
export OPENBLAS_NUM_THREADS := 1
# One kernel on all machines with AVX2: the last bit of a dot product decides what DPAda as written learns from ties.
export OPENBLAS_CORETYPE := Haswell
export PYTHONHASHSEED := 0
# Compiled once and kept: a process that may not keep it compiles pandas, SciPy and scikit-learn, for 3 seconds more.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help book pdf test test-all test-spark serve lint results notebooks bench clean

help:  ## show this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## */  make \1\t/' | expand -t 20

# --no-compile: what is imported is compiled then, and the rest, most of it, never.
.venv/.installed: pyproject.toml book/pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "Python 3.11 or later is needed, but '$(PYTHON)' is $$($(PYTHON) --version 2>&1)." \
	       "Name another one: make PYTHON=python3.12"; exit 1; }
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --no-compile -c constraints.txt -e ".[test,dev]" -e ./book
	touch $@

# --all: an incremental build would not repeat the warnings of pages that it does not read again.
book: .venv/.installed  ## build the book in _build/html, with warnings as errors
	$(BIN)/jupyter-book build . --all -W -n --keep-going --quiet

pdf: book  ## print the reading edition and the slides of a lecture to _build/pdf; needs Chromium or Chrome
	$(BIN)/python -m private_trees.site.pdf

test: .venv/.installed $(if $(SPARK),.venv/.spark)  ## run everything that CI runs: lint, book, unit tests, notebooks, the site in a browser
	@$(MAKE) --jobs=2 lint book
	@command -v chromium >/dev/null || command -v chromium-browser >/dev/null || command -v google-chrome >/dev/null || [ "$$CI" = true ] || \
	  echo "No Chromium found: the tests of the built site will be skipped. Install chromium to run them."
	@$(MAKE) --jobs=3 test-units test-notebooks $(if $(SPARK),test-spark,no-spark)

# These three run side by side: each waits much of the time, for a browser, a kernel or a cluster.
.PHONY: test-units test-notebooks no-spark
test-units: .venv/.installed
	$(BIN)/python -m pytest tests -n 2 --dist worksteal --durations=25 --ignore-glob "tests/test_spark*.py"

test-notebooks: .venv/.installed
	$(if $(NOTEBOOKS),$(BIN)/python -m pytest notebooks --nbval --nbval-sanitize-with notebooks/sanitize.cfg --nbval-cell-timeout=300 -n 2 --dist loadscope)

no-spark:
	@echo "No Java found: the tests of the Spark door are skipped. Install Java 17 or later to run them."

.venv/.spark: .venv/.installed
	$(BIN)/python -m pip install --quiet --no-compile -c constraints.txt -e ".[spark]"
	touch $@

# Java's first compiler and one thread for its memory: jobs of a second are over before others pay.
test-spark test-all: export SPARK_SUBMIT_OPTS := -XX:+UseSerialGC -XX:TieredStopAtLevel=1
test-spark: .venv/.spark  ## compare models trained through Spark with those in memory, bit for bit; needs Java 17 or later
	$(BIN)/python -c 'from dpnb.spark import check_java; check_java()'
	$(BIN)/python -m pytest tests/test_spark.py

test-all: test  ## run `make test`, and then what is marked `nightly`: long studies, all partitionings, a broken cluster
	$(BIN)/python -m pytest tests -m nightly -n 2 --dist worksteal --durations=25 --ignore-glob "tests/test_spark*.py"
	$(if $(SPARK),$(BIN)/python -m pytest -m nightly tests/test_spark.py tests/test_spark_cluster.py)

lint: .venv/.installed  ## check style and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# The port comes first: to install and to build takes minutes.
serve:  ## build the book and show it at http://localhost:8000 (PORT=… for another port)
	@! command -v $(PYTHON) >/dev/null || \
	  $(PYTHON) -c 'import socket; socket.create_server(("127.0.0.1", $(PORT))).close()' 2>/dev/null || { \
	  echo "Port $(PORT) is taken: name another one, make serve PORT=8001"; exit 1; }
	$(MAKE) book
	@echo "The book is at http://localhost:$(PORT); Ctrl-C stops it."
	$(BIN)/python -m http.server $(PORT) --bind 127.0.0.1 --directory _build/html

notebooks: .venv/.installed  ## run the notebooks again and store their outputs
	$(BIN)/python -m private_trees.site.notebook execute $(NOTEBOOKS)

results: .venv/.installed  ## compute what is missing of the paper-scale results
	$(BIN)/python -m private_trees.experiments all --jobs 2

bench: .venv/.installed  ## time the estimators against scikit-learn; extends results/benchmarks.csv (ARGS=--help for more)
	$(BIN)/python benchmarks/run.py $(ARGS)

clean:  ## remove the built book, caches and .venv
	rm -rf _build .venv .pytest_cache .mypy_cache .ruff_cache .hypothesis *.egg-info book/*.egg-info
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
