# The Bridge: `make demo` shows it, `make test` proves it, `make check` reads it.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.PHONY: help demo test test-all check bench clean

help: ## List what can be made
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 22

demo: $(STAMP) ## Start Bridge and home server on the sample library, paired, with one book verified and transcribed
	@$(BIN)/bridge-agent demo

# Whole processes on two busy cores can be late for each other: what fails beside the others is run once more
# by itself, and only what fails again counts.
test: $(VENV)/.tested ## Run the fast tests, then the slow ones and those in a browser
	$(BIN)/pytest -q -n 2 --dist loadfile || $(BIN)/pytest -q --last-failed --last-failed-no-failures none
	$(BIN)/pytest -q -n 2 --dist loadfile -m "slow or browser" \
	  || $(BIN)/pytest -q -m "slow or browser" --last-failed --last-failed-no-failures none

check: $(VENV)/.tested ## Lint, format, types, import directions
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(VENV)/.tested ## Print the table of speed and size, each figure beside its limit
	$(BIN)/python -m tests.benchmarks

clean: ## Remove the environment and what was built (the demo's folder: bridge-agent paths)
	rm -rf $(VENV) build dist

# What a fresh machine may lack is named, not guessed at.
$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
	  echo "Python 3.11 or newer is needed. Install it, or name it: make $(MAKECMDGOALS) PYTHON=/path/to/python3.11"; exit 2; }
	@$(PYTHON) -c 'import venv, ensurepip' 2>/dev/null || { \
	  echo "Python's venv module is missing. On Debian and Ubuntu: apt install python3-venv"; exit 2; }
	@$(PYTHON) -m venv $(VENV)

$(STAMP): $(BIN)/python pyproject.toml
	@echo "Setting up (once) …"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[speech]' || { \
	  echo "The speech engine can't be installed here; the rest goes on without it."; \
	  $(BIN)/python -m pip install --quiet --disable-pip-version-check -e .; }
	@touch $@

$(VENV)/.tested: $(STAMP) pyproject.toml
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev,speech,cluster]'
	@touch $@
