# Every step from a fresh clone: `make run` and `make test` set up what they need. `make help` lists the rest.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-builtin-rules --no-print-directory

KB ?= examples/kb
# Tests wait, too: for clients and limits of time. Two more than there are cores keep them busy; with one more, a third was idle.
WORKERS ?= $(shell expr $$(getconf _NPROCESSORS_ONLN) + 2)
BIN := .venv/bin
# Nothing to say when all is well; everything the tool said when it is not.
quietly = said=$$($(1) 2>&1) || { printf '%s\n' "$$said" >&2; exit 1; }

.PHONY: help setup setup-dev model model-wheel dist check-wheel mcpb server-json run test test-quick check format lint types imports docstrings sizes dups excepts text words licences tables bench soak eval lock clean

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-11s %s\n", $$1, $$2}' $(firstword $(MAKEFILE_LIST))

# An environment that stands stays with the Python that made it, unless PYTHON names another.
STANDING = $(shell sed -n 's/^executable = //p' .venv/pyvenv.cfg 2>/dev/null)

setup: ## .venv with the pinned packages and the product (quick when it fits)
	@for python in $(or $(PYTHON),$(STANDING) python3 python3.13 python3.12 python3.11); do \
	  "$$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && exec "$$python" tools/setup.py; \
	done; \
	echo "setup: Python 3.11 or newer is needed, and none was found; name one: make setup PYTHON=/path/to/python3" >&2; \
	exit 1

setup-dev: setup
	@$(BIN)/python tools/setup.py --dev

model: setup ## the model for searching by meaning, made once from published weights (80 MB once; 8 s on a fast line)
	@$(BIN)/commonplace model install >/dev/null || echo "model: search goes by words alone; see above" >&2

run: setup ## index KB (default: examples/kb), ask one question over MCP, print the client's entry: make run KB=~/notes
	@$(BIN)/python tools/run_demo.py "$(KB)"

# Thousands of writes are flushed to the disk; in memory, where programs can run and there is room, nobody waits for it.
SCRATCH = $(shell ! grep -qs ' /dev/shm .*noexec' /proc/mounts && \
  [ "$$(df --output=avail /dev/shm 2>/dev/null | tail -n 1)" -ge 4000000 ] 2>/dev/null && echo TMPDIR=/dev/shm)

# Compiled files are kept, whatever the shell says: hundreds of processes would compile what was edited again and again.
test: setup-dev model ## the whole suite
	@env -u PYTHONDONTWRITEBYTECODE $(SCRATCH) $(BIN)/python -m pytest -q -n $(WORKERS) --dist worksteal $(ARGS)

# Rules and services in this process: what starts servers, clients or Git is left to `make test`.
test-quick: setup-dev ## the unit tests that start no server, for whoever edits
	@env -u PYTHONDONTWRITEBYTECODE $(SCRATCH) $(BIN)/python -m pytest -q -n $(WORKERS) --dist worksteal \
	  tests/unit/domain tests/unit/services tests/unit/settings tests/unit/plugins $(ARGS)

check: lint types imports docstrings sizes dups excepts text words licences tables ## every static check; each also alone:
	@echo "check: clean"

format: setup-dev ## rewrite the sources in the one format
	@$(BIN)/ruff format -q && $(BIN)/ruff check -q --fix

lint: setup-dev ## format and lint rules (ruff)
	@$(call quietly,$(BIN)/ruff format --check -q)
	@$(call quietly,$(BIN)/ruff check -q)

# Most of what it makes is soon garbage: with more room for that, it takes a seventh less.
types: setup-dev ## types, strict (pyright)
	@$(call quietly,env NODE_OPTIONS="$${NODE_OPTIONS:-} --max-semi-space-size=64" $(BIN)/pyright)

imports: setup-dev ## which part may import which (import-linter)
	@$(call quietly,$(BIN)/lint-imports --no-cache --no-logo)

docstrings: setup-dev ## every public name is documented (interrogate)
	@$(call quietly,$(BIN)/interrogate -vv src tools)

sizes: setup-dev ## lengths of files and functions, and their complexity
	@$(BIN)/python tools/check_sizes.py

dups: setup-dev ## duplicated lines
	@$(BIN)/python tools/check_duplicates.py

excepts: setup-dev ## only faces and what calls plugins catch any exception at all
	@$(BIN)/python tools/check_excepts.py

text: setup-dev ## no machine paths, registry hosts or unfinished work in tracked files
	@$(BIN)/python tools/check_text.py

words: setup-dev ## the field's terms as names and in prose; no word that was given up (docs/glossary.md)
	@$(BIN)/python tools/check_words.py

licences: setup ## the pinned packages have licences that forbid no use (tools/release/licences.toml)
	@$(BIN)/python tools/release/licences.py

tables: setup-dev ## the pages of tools, commands, settings, errors, releases, Confluence and reliability are as their sources (tools/list_*.py make them)
	@$(BIN)/python tools/list_tools.py --check
	@$(BIN)/python tools/list_commands.py --check
	@$(BIN)/python tools/list_settings.py --check
	@$(BIN)/python tools/list_release.py --check
	@$(BIN)/python tools/list_confluence.py --check
	@$(BIN)/python tools/list_reliability.py --check

web: setup-dev ## the files that browsers load, built from src/commonplace/faces/web/browser (npm packages, esbuild)
	@$(BIN)/python tools/build_web.py

web-check: setup-dev ## build them again and compare with what is committed
	@$(BIN)/python tools/build_web.py --check

picture: setup-dev ## the picture of the README, docs/pages.png (needs Chromium)
	@$(BIN)/python tools/take_picture.py

bench: setup-dev model ## every figure of docs/figures.md: benchmarks/results.json and a table
	@$(BIN)/python -m benchmarks $(ARGS)

soak: setup-dev model ## the long campaigns whole, and their records in docs/soak: ARGS=NAME, BUDGET=2h; ARGS=--list names them
	@BUDGET="$(BUDGET)" $(BIN)/python tools/run_campaigns.py $(ARGS)

eval: setup-dev model ## quality of search on judged question sets (../shared/eval)
	@$(BIN)/python -m benchmarks.judged $(ARGS)

dist: setup ## wheel and sdist (the same bytes each time), bill of materials, licences and SHA256SUMS, in dist/
	@$(BIN)/python tools/release/build_dist.py

check-wheel: setup-dev ## the suites of kb, the command line and the language server against the wheel, outside the checkout
	@$(BIN)/python tools/release/check_wheel.py -n $(WORKERS) --dist worksteal $(ARGS)

mcpb: dist ## an MCP bundle for clients that install by one click, in dist/
	@$(BIN)/python tools/release/bundle.py

server-json: setup ## the entry for a registry of MCP servers: NAME=io.github.OWNER/commonplace URL=https://…
	@$(BIN)/python tools/release/bundle.py --name "$(NAME)" --url "$(URL)"

model-wheel: setup model ## a package with the converted model, in dist/
	@$(BIN)/python tools/model_wheel.py

lock: setup-dev ## resolve pyproject.toml anew into requirements*.lock (UPGRADE=1: newest versions)
	@$(BIN)/python tools/lock.py $(if $(UPGRADE),--upgrade)

clean: ## everything that can be made again, .venv included
	@rm -rf .venv .cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache .grimp_cache build dist
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +
