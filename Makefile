# make demo   set up everything, crawl the testbed with real headless Chrome, print the savings
# make test   set up everything, run the tests
# make test-fast   a third of the tests: no browser, testbed, study, command or drawn cases
# make check  style, types, layers, generated pages        make coverage  branches of models/ and analysis/ that tests take
# make fuzz   coverage-guided fuzzing of the doors of tests/fuzz, each for FUZZ_SECONDS=60 (FUZZ_RUNS=1000000: so many inputs)
# make mutants   does a test fail if one operator is another? Scores in tests/mutation/scores.json (MUTANTS=12 of each file)
# make bench  ratios against other tools, measured in one run     make soak  the long tests, at full length
# make docs   write the generated pages again              make audit the packages' known weaknesses, from the internet
# make rules  observe the browsers' rules again in the installed browsers, show what changed, store it (RULES=NAME: one);
#             BROWSER=chromium@88: what is not stored yet of that version, from a package (LOADS=5: with so many loads)
# make wheels the distribution in dist/, checked, and tried in an empty environment       make docs-site   docs/ as a site
# make lowest the quick tests with the lowest versions that pyproject.toml declares
# make clients   observe the HTTP clients whose programs are on PATH again in the testbed, store it (CLIENTS="curl")
# make timelines  what the causal timeline promises against what loads take in the testbed; goes on where it was stopped (LOADS=10)
# make servers   ask the lab's web servers again what they answer to requests for another host, store it

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

# Tests start the program some hundred times: its modules are compiled once, whatever the environment says.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help audit demo test test-fast coverage check types bench soak fuzz mutants docs docs-site lowest newer rules clients servers timelines \
  wheels wheels-everywhere \
  system-demo system-test
.NOTPARALLEL:

help:
	@sed -n '/^$$/q; s/^# //p' Makefile

demo: system-demo $(READY)
	@$(BIN)/originset demo

# The oldest DuckDB that study.duckdb is written for: tests read it with that too, where there is one for this Python.
OLD_DUCKDB := build/duckdb-$(shell sed -n 's/^STORAGE_VERSION = "v\(.*\)"$$/\1/p' data/studies/database.py)

# Workers side by side, each in namespaces of its own, take whole files: tests/conftest.py.
test: system-test $(READY) $(OLD_DUCKDB)/.tried
	@$(BIN)/pytest -n auto

$(OLD_DUCKDB)/.tried:
	@mkdir -p $(@D)
	@$(BIN)/python -m pip install -qq --disable-pip-version-check --no-deps --only-binary :all: --target $(@D) \
	  duckdb==$(OLD_DUCKDB:build/duckdb-%=%) || echo "tests with DuckDB $(OLD_DUCKDB:build/duckdb-%=%) are skipped" >&2
	@touch $@

test-fast: $(READY)
	@$(BIN)/pytest -q -m "not slow"

# Fails below 95 % of the branches of either folder. Ten minutes on two cores, so no part of what a change must pass.
coverage: system-test $(READY)
	@rm -rf build/coverage; mkdir -p build/coverage
	@$(BIN)/coverage run -m pytest -q tests/models tests/analysis
	@$(BIN)/coverage combine -q
	@$(BIN)/coverage report
	@$(BIN)/coverage json -q -o - | .ci/branches 95 models analysis

soak: system-test $(READY) build/lego-5/lego
	@ORIGINSET_SOAK=full $(BIN)/pytest -m soak
	@$(MAKE) --no-print-directory fuzz FUZZ_SECONDS=900

# It goes on from what tests/fuzz/corpora and build/fuzz hold. Exit code 1 where something was found: build/fuzz names it.
export FUZZ_SECONDS FUZZ_RUNS
fuzz: $(READY) build/fuzz/.ready
	@PYTHONPATH=tests/fixtures:tests/fuzz $(BIN)/python tests/fuzz/fuzz.py $(DOORS)

# Goes on where it was stopped. MUTANTS=60: so many of each file; GROUPS="'redaction'": of these alone.
export MUTANTS
mutants: $(READY) build/mutants/.ready
	@$(BIN)/python tests/mutation/mutants.py $(GROUPS)

build/mutants/.ready: pyproject.toml | $(READY)
	@$(BIN)/python -m pip install -qq --disable-pip-version-check --group mutation
	@mkdir -p $(@D) && touch $@

build/fuzz/.ready: pyproject.toml | $(READY)
	@$(BIN)/python -m pip install -qq --disable-pip-version-check --group fuzz
	@mkdir -p $(@D) && touch $@

build/lego-5/lego: .ci/lego-5 | $(READY)
	@.ci/lego-5

bench: system-test $(READY)
	@for bench in tests/benchmarks/bench_*.py; do echo "== $$bench"; $(BIN)/python $$bench || exit 1; done

# Asks the Python Packaging Advisory Database: the one target that needs the internet, and so none that others depend on.
audit: $(READY)
	@test -x build/audit/bin/pip-audit || { $(PYTHON) -m venv build/audit && build/audit/bin/pip install -q pip-audit; }
	@build/audit/bin/pip-audit --strict --requirement constraints.txt --no-deps --disable-pip

# Pages that are made from their source: the module that writes each, and where to.
PAGES := originset.cli.pages.schema_page:docs/schema.md \
  originset.models.runner.page:docs/models.md \
  originset.cli.pages.commands_page:docs/commands.md \
  originset.cli.pages.json_schema:docs/json-schema.json \
  originset.cli.writers.servers_page:docs/servers.md \
  originset.crawler.testbed.rules.page:docs/browser-rules.md \
  originset.crawler.testbed.rules.versions.compat_data:docs/browser-rules.json \
  originset.crawler.testbed.rules.clients.page:docs/http-clients.md \
  security_page:SECURITY.md \
  bigquery_page:docs/bigquery.md \
  python_page:docs/python.md

check: $(READY) types
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@PYTHONPATH=build/typing $(BIN)/lint-imports --no-logo --no-cache
	@$(BIN)/deptry --no-ansi .
	@for page in $(PAGES); do \
	  PYTHONPATH=.ci $(BIN)/python -m $${page%:*} | diff - $${page#*:} || { echo "$${page#*:} is stale: make docs" >&2; exit 1; }; \
	done

# Type and layer checkers do not run the import hook of an editable install; links give them the same package by path.
LINKS := $(addprefix build/typing/originset/,analysis cli crawler data models queries)
types: $(READY) $(LINKS)
	@$(BIN)/mypy

build/typing/originset: $(wildcard _originset/*)
	@mkdir -p $@ && touch $@
	@for file in _originset/*; do ln -sf ../../../$$file $@/; done

build/typing/originset/%: | build/typing/originset
	@ln -sfn ../../../$* $@

docs: $(READY)
	@mkdir -p build
	@for page in $(PAGES); do \
	  PYTHONPATH=.ci $(BIN)/python -m $${page%:*} > build/page.md && mv build/page.md $${page#*:} || exit 1; \
	done

# Tools for releases have an environment of their own: the program and its tests need none of them.
TOOLS := build/tools/bin
$(TOOLS)/.ready: pyproject.toml constraints.txt
	@test -x $(TOOLS)/python || $(PYTHON) -m venv build/tools
	@$(TOOLS)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --upgrade pip
	@$(TOOLS)/python -m pip install -qq --disable-pip-version-check --constraint constraints.txt --group release
	@touch $@

# For this interpreter and machine; the workflow `wheels` makes those of the others. The distribution needs no other program.
wheels: $(READY) $(TOOLS)/.ready
	@$(TOOLS)/validate-pyproject pyproject.toml
	@rm -rf dist build/wheel; $(BIN)/python -m build --no-isolation --outdir build/wheel . >build/wheel.log || { cat build/wheel.log; exit 1; }
	@mkdir -p dist; cp build/wheel/*.tar.gz dist
	@PATH="$(CURDIR)/$(TOOLS):$$PATH" $(TOOLS)/auditwheel repair --wheel-dir dist build/wheel/*.whl
	@$(TOOLS)/twine check --strict dist/*
	@$(TOOLS)/check-wheel-contents dist/*.whl
	@PYTHON=$(PYTHON) .ci/installed dist/*.whl

# The wheels of all Pythons for this processor, in containers of manylinux and musllinux: needs docker or podman.
wheels-everywhere:
	@test -x build/cibuildwheel/bin/cibuildwheel || { $(PYTHON) -m venv build/cibuildwheel && build/cibuildwheel/bin/pip install -q cibuildwheel; }
	@build/cibuildwheel/bin/cibuildwheel --output-dir dist

# constraints.txt with the newest versions that fit together, of the same packages. What they break, `make check test` shows.
newer: $(TOOLS)/.ready
	@sed 's/==.*//' constraints.txt >build/packages.txt
	@$(TOOLS)/uv pip compile --quiet --upgrade --no-annotate --no-header build/packages.txt >build/newer.txt
	@LC_ALL=C sort -f build/newer.txt >constraints.txt

# Fails at a broken link or anchor, and at a page of docs/ that mkdocs.yml does not list.
docs-site: $(TOOLS)/.ready
	@rm -rf build/pages; $(PYTHON) .ci/site_pages.py build/pages
	@NO_MKDOCS_2_WARNING=1 $(TOOLS)/mkdocs build --strict --quiet
	@echo "the site is in build/site; to read it with its search: $(PYTHON) -m http.server -b 127.0.0.1 -d build/site"

# Warnings are no errors there: old versions of packages warn of each other.
lowest: $(TOOLS)/.ready
	@$(TOOLS)/uv pip compile --quiet --no-deps --resolution lowest --all-extras pyproject.toml -o build/lowest.txt
	@test -x build/lowest/bin/python || $(TOOLS)/uv venv --quiet --python $(PYTHON) build/lowest
	@VIRTUAL_ENV=build/lowest $(TOOLS)/uv pip install --quiet --constraint build/lowest.txt --editable . --group dev
	@build/lowest/bin/pytest -q -m "not slow" -o filterwarnings=default

# A browser that does something else than its predecessor is a difference in these files, not a failure.
LOADS := $(if $(BROWSER),1,5)
rules: system-test $(READY)
	@$(BIN)/python -m originset.crawler.testbed.rules$(if $(BROWSER),.versions $(BROWSER)) $(RULES) --loads $(LOADS) \
	  --out crawler/testbed/rules/texts
	@$(BIN)/python -m originset.crawler.testbed.rules.page > docs/browser-rules.md
	@$(BIN)/python -m originset.crawler.testbed.rules.versions.compat_data > docs/browser-rules.json

clients: system-test $(READY)
	@$(BIN)/python -m originset.crawler.testbed.rules.clients $(CLIENTS) --loads $(LOADS) --out crawler/testbed/rules/clients/observed.json
	@$(BIN)/python -m originset.crawler.testbed.rules.clients.page > docs/http-clients.md

# Hours. What a load takes is the machine's too: nothing else should run beside it. The result says how busy it was.
timelines: system-test $(READY)
	@$(BIN)/python -m tests.fixtures.timed_loads build/timelines --loads $(if $(filter command line,$(origin LOADS)),$(LOADS),10)
	@$(BIN)/python -m tests.fixtures.promised_savings build/timelines --out data/reference/timeline_errors.toml

servers: system-test $(READY)
	@$(BIN)/python -m originset.crawler.testbed.server_lab
	@$(BIN)/python -m originset.cli.writers.servers_page > docs/servers.md

$(READY): pyproject.toml constraints.txt $(wildcard models/*/*.pyx)
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Python 3.11 or newer is needed: make PYTHON=python3.x ..." >&2; exit 2; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --upgrade pip
	@$(BIN)/python -m pip install -qq --disable-pip-version-check --constraint constraints.txt --build-constraint constraints.txt \
	  --editable . --group dev
	@touch $@

# What pip cannot install. Root on Debian gets it; anybody else is told the command.
system-demo:
	@PYTHON=$(PYTHON) ./system-packages chromium libnss3-tools iproute2 python3-venv python3-dev gcc

system-test:
	@PYTHON=$(PYTHON) ./system-packages chromium chromium-driver chromium-headless-shell chromium-sandbox firefox-esr \
	  libnss3-tools iproute2 nodejs lego python3-venv python3-dev gcc \
	  nginx apache2-bin haproxy caddy lighttpd lighttpd-mod-openssl h2o nghttp2-proxy trafficserver varnish
