# make demo runs the whole product on this machine, make test runs all tests. Both install what they need into .venv.
.DEFAULT_GOAL := help
PYTHON ?= python3
VENV := .venv
RUN := $(VENV)/bin/python
ASSETS := $(shell find static -type f ! -name '*.br' ! -name '*.gz' ! -name '*scripts.js' ! -name '*styles.css') $(wildcard portal/i18n/translations/*/LC_MESSAGES/*.po)

# Tests start Python a few hundred times: keep bytecode caches, here and in .venv.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help install production demo demo-scale dev shell t facts test test-all html lighthouse image image-pin release check format messages words requirements screenshots documents clean

help:  ## list the commands
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 16

install: $(VENV)/.assets  ## install what the portal and its demo need into .venv

production: $(VENV)/.uv  ## install what the portal alone needs into .venv: no care service, no tools (TRACING=1: and OpenTelemetry)
	@VIRTUAL_ENV=$(VENV) $(VENV)/bin/uv pip install --quiet --compile-bytecode --require-hashes -r requirements/$(if $(TRACING),tracing,portal).txt
	@$(RUN) -m portal.web.static
	@$(VENV)/bin/pybabel --quiet compile --directory portal/i18n/translations

demo: $(VENV)/.assets  ## run the portal and the care service with sample people
	@$(RUN) -m portal demo

demo-scale: $(VENV)/.assets  ## run the demo as two machines behind nginx, with Redis and PostgreSQL
	@$(RUN) -m portal demo --scale

dev: $(VENV)/.assets  ## run the demo and reload it on each change; data and sessions are kept in var/dev
	@$(RUN) -m portal demo --reload --data var/dev

shell: $(VENV)/.dev $(VENV)/.assets  ## open a Python prompt signed in as a sample person (AS=nora; default amelia)
	@$(RUN) -m tools.shell $(AS)

t: $(VENV)/.dev $(VENV)/.assets  ## run one test file, stopping at the first failure: make t F=tests/test_parse.py
	@test -n "$(F)" || { echo "Name a file: make t F=tests/test_parse.py" >&2; exit 2; }
	@$(RUN) -m pytest -q -x $(F)

facts: $(VENV)/.dev $(VENV)/.assets  ## write anew what tests hold of pages, acts and calls, to be read as a difference
	@WRITE_FACTS=1 $(RUN) -m pytest -q $(addprefix tests/pages/test_,facts.py queries.py states.py acts.py refused_acts.py service_calls.py failures.py) tests/careservice/openapi/test_openapi_document.py

test: $(VENV)/.dev $(VENV)/.assets  ## install what the tests need (Chromium too) and run all tests (AT='2026-12-31 23:50' sets the clock)
	@$(RUN) -m tools.machine
	@$(if $(AT),$(RUN) -m tools.shifted_clock '$(AT)') $(RUN) -m pytest -n auto --dist loadfile --no-loadscope-reorder

# Besides what make test runs: at once what that takes by the week; pages in every theme, width and language; a release; alerts
# over days; all of Schemathesis; each act with killed workers;
# the large sample; a generated Python client, Spectral, TypeScript, openid-client; five identity servers that
# others wrote; the API's tests on PostgreSQL; the Nu HTML checker; the image. Needs npm, Java, access to the registries of npm,
# PyPI and Debian, and for two of the identity servers root, or their packages.
test-all: $(VENV)/.dev $(VENV)/.assets  ## run all tests, also the long ones and the care service's on PostgreSQL
	@$(RUN) -m tools.machine
	@CARE_TEST_FULL=1 $(RUN) -m pytest -n auto --dist loadfile --no-loadscope-reorder
	@CARE_TEST_FULL=1 CARE_TEST_DATABASE=postgresql $(RUN) -m pytest tests/careservice --ignore tests/careservice/third_party -n auto --dist loadfile
	@$(RUN) -m tools.html_quality
	@$(RUN) -m tools.image

html: $(VENV)/.dev $(VENV)/.assets  ## check every page with the Nu HTML checker (Java and npm)
	@$(RUN) -m tools.html_quality

lighthouse: $(VENV)/.dev $(VENV)/.assets  ## measure the main pages with Lighthouse, emulating a phone (Node 18 or newer)
	@$(RUN) -m tools.machine
	@$(RUN) -m tools.lighthouse

check: $(VENV)/.dev  ## check style, types, layers, templates and Dockerfile
	@$(VENV)/bin/ruff check .
	@$(VENV)/bin/ruff format --check .
	@$(VENV)/bin/basedpyright
	@$(VENV)/bin/lint-imports
	@$(VENV)/bin/djlint --lint --quiet templates portal/careservice/templates
	@$(VENV)/bin/hadolint Dockerfile

format: $(VENV)/.dev  ## format the code
	@$(VENV)/bin/ruff check --fix . ; $(VENV)/bin/ruff format .

screenshots: $(VENV)/.dev $(VENV)/.assets  ## take the README's picture, and contact sheets of all pages
	@$(RUN) -m tools.machine
	@$(RUN) -m tools.screenshots

.PHONY: mutants
mutants: $(VENV)/.dev $(VENV)/.assets  ## run mutation tests: the main modules, then 200 slips anywhere, drawn by chance (each resumes where it stopped)
	@$(RUN) -m tools.machine
	@$(RUN) -m tools.mutants
	@$(RUN) -m tools.random_mutants

.PHONY: bench bench-quick bench-load bench-slow
bench: $(VENV)/.dev $(VENV)/.assets  ## measure speed, size and memory, and write docs/performance.md (several minutes)
	@$(RUN) -m tools.machine
	@$(RUN) -m tools.bench

bench-load: $(VENV)/.dev $(VENV)/.assets  ## load test: 200 people for a minute, with an API that is slow and sometimes fails
	@$(RUN) -m tools.bench.concurrent_users

bench-slow: $(VENV)/.dev $(VENV)/.assets  ## measure how a thousand slow clients affect others, with and without nginx
	@$(RUN) -m tools.machine
	@$(RUN) -m tools.bench.slow_clients

.PHONY: bench-scale
bench-scale: $(VENV)/.dev $(VENV)/.assets  ## measure two machines with 1,000 clinics and 20,000 signed-in people, and write it to docs/performance.md
	@$(RUN) -m tools.machine
	@$(RUN) -m tools.bench.scale --keep

.PHONY: soak
soak: $(VENV)/.dev $(VENV)/.assets  ## let people browse for 30 minutes among faults; fails if memory, files, threads or keys grow (MINUTES=30)
	@$(RUN) -m tools.machine
	@$(RUN) -m tools.bench.soak --keep --minutes $(or $(MINUTES),30)

bench-quick: $(VENV)/.dev $(VENV)/.assets  ## a quick make bench: about a minute, writes nothing
	@$(RUN) -m tools.machine
	@$(RUN) -m tools.bench --quick

messages: $(VENV)/.dev  ## update the translation catalogues from code and templates
	@$(RUN) -m tools.messages

words: $(VENV)/.dev $(VENV)/.assets  ## write a language's texts to a spreadsheet for review: make words L=es (PICTURES=1, TAKE=es.csv)
	@test -n "$(L)" || { echo "Name a language: make words L=es" >&2; exit 2; }
	@$(if $(PICTURES),$(RUN) -m tools.machine,true)
	@$(RUN) -m tools.review_sheet $(L) $(if $(PICTURES),--pictures) $(if $(TAKE),--take $(TAKE))

documents: $(VENV)/.dev  ## rewrite the generated documents: settings, endpoints, what the portal needs of an API, access, ASVS
	@$(RUN) -m tools.documents

image: $(VENV)/.dev  ## build the image without Docker, in a folder of its own, and start it
	@$(RUN) -m tools.image

image-pin: $(VENV)/.dev  ## pin the base image to its registry's current digest
	@$(RUN) -m tools.image_pin

release: $(VENV)/.dev  ## write a release of this commit to dist/: sources, SBOM, licences, provenance, checksums
	@$(RUN) -m tools.documents --check
	@$(RUN) -m tools.released --check
	@$(RUN) -m tools.release

.PHONY: drills drill
drills: $(VENV)/.dev $(VENV)/.assets  ## break the running portal in a dozen ways and see what docs/runbook.md says is seen
	@$(RUN) -m tools.drills

drill: $(VENV)/.dev $(VENV)/.assets  ## run one drill of docs/runbook.md: make drill D=redis
	@test -n "$(D)" || { echo "Name a drill of docs/runbook.md: make drill D=redis" >&2; exit 2; }
	@$(RUN) -m tools.drills $(D)

.PHONY: released
released: $(VENV)/.dev  ## write down what this release stores and reads, which later ones keep
	@$(RUN) -m tools.released

requirements: $(VENV)/.dev  ## update the pinned dependencies
	@$(RUN) -m tools.requirements

clean:  ## remove .venv
	rm -rf $(VENV)

$(VENV)/.uv: requirements/uv.txt
	@$(PYTHON) -c 'import sys; sys.exit("Python 3.11 or newer is needed (PYTHON=python3.11 make …)" if sys.version_info < (3, 11) else 0)'
	@$(PYTHON) -c 'import venv, ensurepip' 2>/dev/null || { echo "The venv module is missing: apt-get install python3-venv" >&2; exit 2; }
	@$(PYTHON) -m venv $(VENV) || { echo "$(CURDIR)/$(VENV) is not writable: use a folder of your own." >&2; exit 2; }
	@$(VENV)/bin/pip install --quiet --disable-pip-version-check --require-hashes -r requirements/uv.txt
	@touch $@

$(VENV)/.portal: $(VENV)/.uv requirements/demo.txt
	@VIRTUAL_ENV=$(VENV) $(VENV)/bin/uv pip install --quiet --compile-bytecode --require-hashes -r requirements/demo.txt
	@touch $@

$(VENV)/.assets: $(VENV)/.portal $(ASSETS)
	@$(RUN) -m portal.web.static
	@$(VENV)/bin/pybabel --quiet compile --directory portal/i18n/translations
	@touch $@

$(VENV)/.dev: $(VENV)/.portal requirements/dev.txt
	@VIRTUAL_ENV=$(VENV) $(VENV)/bin/uv pip install --quiet --compile-bytecode --require-hashes -r requirements/dev.txt
	@touch $@
