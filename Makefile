# Surehand: two commands for a newcomer.
#
#   make demo   five runs against a real web app in a real Chromium, each with its honest outcome
#   make test   every check: formatting, types, layering, properties, integration, the built wheel
#
# Both set themselves up in .venv (and .venv-sdk1 and .node for tests) and touch nothing else,
# except that a machine without any Chromium gets one: by apt as root on Debian, else by Playwright.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
SDK1 := .venv-sdk1
NODE := .node

export PIP_DISABLE_PIP_VERSION_CHECK := 1
export PIP_NO_WARN_SCRIPT_LOCATION := 1
export SUREHAND_SDK1_PYTHON := $(CURDIR)/$(SDK1)/bin/python
export SUREHAND_NODE_DIR := $(CURDIR)/$(NODE)

.PHONY: demo test lint properties integration wheel setup dev audit bench faults apps mutation nightly clean help

help:
	@sed -n '3,4s/^# *//p' Makefile

demo: $(VENV)/.demo .browser
	@$(BIN)/surehand demo

test: setup lint
	@$(MAKE) --no-print-directory --output-sync=target -j2 properties integration
	@echo "All checks passed."

setup: $(VENV)/.tests wheel $(SDK1)/.installed $(NODE)/.installed .browser .compiler .screen

# The interpreter, and on Debian its venv module.
$(VENV)/.created:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Surehand needs Python 3.11 or newer: set PYTHON=/path/to/python3.11"; exit 1; }
	@scripts/make-venv "$(PYTHON)" "$(VENV)"
	@touch $@

$(VENV)/.demo: $(VENV)/.created pyproject.toml
	@echo "Installing Surehand into $(VENV) ..."
	@$(BIN)/pip install -q -e '.[browser]'
	@touch $@

$(VENV)/.tests: $(VENV)/.created pyproject.toml
	@echo "Installing the test tools into $(VENV) ..."
	@$(BIN)/pip install -q -e '.[browser]' --group dev
	@touch $@ $(VENV)/.demo

# The tests run against the wheel that users get, not against the source tree.
wheel: $(VENV)/.tests
	@rm -rf dist && $(BIN)/pip wheel -q --no-deps --wheel-dir dist .
	@$(BIN)/pip install -q --force-reinstall --no-deps dist/*.whl

# Back to the source tree, for development.
dev: $(VENV)/.tests
	@$(BIN)/pip install -q --no-deps -e .

# The older line of the MCP SDK, for the tests that drive it.
$(SDK1)/.installed: $(VENV)/.tests wheel
	@scripts/make-venv "$(PYTHON)" "$(SDK1)"
	@$(SDK1)/bin/pip install -q 'mcp>=1.30,<2' dist/*.whl
	@$(SDK1)/bin/pip install -q --force-reinstall --no-deps dist/*.whl
	@touch $@

# Node programs of the tests: the MCP Inspector and the conformance suite.
$(NODE)/.installed: tests/support/node/package.json $(VENV)/.tests
	@mkdir -p $(NODE) && cp tests/support/node/package.json $(NODE)/
	@cd $(NODE) && NODE_USE_SYSTEM_CA=1 PATH="$(CURDIR)/$(BIN):$$PATH" npm install --ignore-scripts --silent --no-audit --no-fund
	@touch $@

.browser: $(VENV)/.created
	@scripts/ensure-browser "$(BIN)"
	@touch $@

.compiler:
	@scripts/ensure-compiler
	@touch $@

.screen:
	@scripts/ensure-screen
	@touch $@

lint: $(VENV)/.tests
	@$(BIN)/ruff format --check -q . && $(BIN)/ruff check -q .
	@$(BIN)/mypy --no-error-summary
	@$(BIN)/pyright --warnings > .pyright.log || { cat .pyright.log; exit 1; }
	@PYTHONPATH=src $(BIN)/lint-imports --no-logo > .imports.log 2>&1 || { cat .imports.log; exit 1; }
	@echo "Formatting, types and layers are in order."

# Core alone, without any I/O, with every branch of it measured.
properties: $(VENV)/.tests
	@rm -f .coverage*
	@$(BIN)/coverage run -m pytest tests/properties -q
	@$(BIN)/coverage combine -q && $(BIN)/coverage report --include='*/surehand/core/*' --fail-under=100 --skip-covered --show-missing

# Half of their time is waiting for browsers and processes, so there are more of them than cores; the longest begin first.
integration: $(VENV)/.tests
	@$(BIN)/pytest tests/faults tests/integration -q -n 4 --dist loadfile --no-loadscope-reorder

audit: $(VENV)/.demo
	@$(BIN)/surehand audit

# The long campaigns; their results stand in docs/.
faults: $(VENV)/.tests .compiler .browser
	@$(BIN)/python -m tests.faults --profile full

# Ten apps that others wrote, with and without saves that are spoiled on their way; Debian's need root and some minutes.
apps: $(VENV)/.tests .browser
	@$(BIN)/python -m tests.apps.campaign && $(BIN)/python -m tests.apps.campaign --faults

mutation: $(VENV)/.tests
	@$(BIN)/python -m tests.mutation

nightly: $(VENV)/.tests
	@SUREHAND_HYPOTHESIS_PROFILE=nightly $(BIN)/pytest tests/properties -q --timeout=7200

bench: $(VENV)/.tests
	@for script in store plans fence compile mcp_server attended browser size; do echo "== $$script"; $(BIN)/python bench/$$script.py || exit 1; done

clean:
	rm -rf $(VENV) $(SDK1) $(NODE) .browser .compiler .screen dist build .coverage* .pyright.log .imports.log
