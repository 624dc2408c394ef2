# `make serve` and `make test` need only Python 3.11 or newer: they make their own environment in .venv.

PYTHON ?= python3
BIN := .venv/bin

.PHONY: serve test frameworks check conformance bench bench-short bytecode clean

serve: .venv/served bytecode
	$(BIN)/mockserver serve

# With bytecode, also of the tests and of what pytest rewrites: all processes that they start need it again.
test: .venv/tested bytecode
	env -u PYTHONDONTWRITEBYTECODE $(BIN)/python -m pytest -n 2 --dist worksteal $(ARGS)

# Needs a network, and minutes for each framework: ARGS=-k langchain tries one.
frameworks: .venv/tested bytecode
	$(BIN)/python -m pytest $(ARGS) tests/clients/frameworks.py
	$(BIN)/python -m tests.tools.docs

check: .venv/tested
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# The test suites of the vendors and of their clients, each in an environment of its own; not part of `make test`.
conformance: .venv/tested bytecode
	$(BIN)/python -m tests.tools.conformance $(ARGS)

bench: .venv/tested bytecode
	$(if $(PEERS),$(BIN)/python -m tests.bench.peers $(filter-out 1,$(PEERS)))
	$(BIN)/python -m tests.bench $(ARGS)

bench-short: .venv/tested bytecode
	$(BIN)/python -m tests.bench --short

# If Python may not write bytecode (PYTHONDONTWRITEBYTECODE), it would compile everything at each start.
bytecode: | .venv/bin/python
	@$(BIN)/python -m compileall -q mockserver

clean:
	rm -rf .venv .clients .bench-peers

.venv/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "mockserver needs Python 3.11 or newer; name one: make PYTHON=python3.12 ...")'
	$(PYTHON) -m venv .venv

.venv/served: pyproject.toml | .venv/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	@touch $@

.venv/tested: pyproject.toml | .venv/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[test]'
	@touch $@ .venv/served
