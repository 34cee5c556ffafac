# make demo, make test. Needs git, Python ≥ 3.11 and make; everything else goes into .venv.
.DEFAULT_GOAL := help
.PHONY: help demo stop test lint format chaos race-recompute bench-queue bench-pipeline bench-parsing peers clean
SHELL := /bin/sh
ARGS ?=
VENV := .venv
PY := $(VENV)/bin/python
PEERS := .venv-peers

help: ## what can be made
	@sed -n 's/^\([a-z-]*\):.*## /  make \1	/p' $(MAKEFILE_LIST)

demo: $(VENV)/runtime .env ## start everything with sample documents (ARGS="--port 8123", "--reset", "--exit --format json")
	@$(PY) manage.py demo $(ARGS)

stop: ## stop the PostgreSQL in .data that a command other than the demo left running
	@test ! -x $(PY) || $(PY) manage.py stop_postgres

test: $(VENV)/development .env ## linters, types, migrations, deployment checks, and the whole test suite
	@$(MAKE) --no-print-directory lint
	@echo "== tests" && $(PY) -m pytest $(ARGS)

lint: $(VENV)/development ## linters and checks alone
	@echo "== ruff" && $(VENV)/bin/ruff check . && $(VENV)/bin/ruff format --check -q .
	@echo "== mypy" && $(VENV)/bin/mypy
	@echo "== django" && $(PY) -m tests.checks

format: $(VENV)/development ## format the code
	@$(VENV)/bin/ruff check --fix -q . ; $(VENV)/bin/ruff format .

chaos: $(VENV)/development .env ## break everything at once and look for mistakes (ARGS="--tasks 300 --kills 30 --seconds 120 --seed 1")
	@$(PY) -m tests.chaos $(ARGS)

race-recompute: $(VENV)/development .env ## compute everything anew while all goes on (ARGS="--documents 2000 --updates 500 --engine local|ray --format json")
	@$(PY) -m tests.chaos.race $(ARGS)

bench-queue: $(VENV)/development ## how fast the queue is, beside a plain script (ARGS="--format json --full")
	@$(PY) -m tests.benchmarks.bench_queue $(ARGS)

bench-pipeline: $(VENV)/development ## from upload to found, beside the provider and a bare COPY (ARGS="--format json")
	@$(PY) -m tests.benchmarks.bench_pipeline $(ARGS)

bench-parsing: $(VENV)/development .env ## how the files of a folder are read, beside other tools (ARGS="--corpus DIR --format json")
	@$(PY) -m tests.benchmarks.bench_parsing $(ARGS)

peers: $(PEERS)/bin/python ## install the tools that bench-parsing measures ours beside
	@$(PEERS)/bin/python -m pip install --quiet --disable-pip-version-check -r requirements-peers.txt

clean: ## remove the environment and all data of the demo and the tests
	@for folder in "$(CURDIR)/.data" "$(CURDIR)/.data/tests"; do \
	  test ! -e "$$folder/postgres/postmaster.pid" || $(PY) -m kbsite.demo.janitor "$$folder" </dev/null || exit 1; done
	rm -rf $(VENV) $(PEERS) .data static-root

.env: .env.example
	@test -e .env || { cat .env.example; echo "KB_SECRET_KEY=$$($(PY) -c 'import secrets; print(secrets.token_urlsafe(50))')"; } > .env
	@touch .env

# The stamps hold a checksum of what was installed: git changes the times of files without changing them.
$(VENV)/runtime: requirements.txt constraints.txt | $(VENV)/bin/python
	@sh .ci/install $(PY) requirements.txt $@
	@touch $@

$(VENV)/development: requirements.txt requirements-dev.txt constraints.txt | $(VENV)/bin/python
	@sh .ci/install $(PY) requirements-dev.txt $@
	@touch $@ $(VENV)/runtime

$(VENV)/bin/python:
	@sh .ci/python $(VENV)

$(PEERS)/bin/python:
	@sh .ci/python $(PEERS)
