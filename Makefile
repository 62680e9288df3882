# Each target works from a bare clone with Python 3.11, git and make: it makes its own virtual environment.
PYTHON ?= python3
VENV := .venv
# What an installation is made of: it is made again when one of them changes.
INSTALLED := pyproject.toml constraints.txt hatch_build.py src/ralph/adapters/processes/sign_search.c src/ralph/adapters/processes/watcher_main.c
BIN := $(VENV)/bin
export PIP_CONSTRAINT := $(CURDIR)/constraints.txt
export PIP_DISABLE_PIP_VERSION_CHECK := 1
# The tests start ralph thousands of times: without bytecode files they would mostly compile it.
unexport PYTHONDONTWRITEBYTECODE
# Many tests wait for a process rather than work, so there are more of them at a time than cores.
WORKERS ?= $(shell echo $$(( $$(getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2) + 2 )))

.PHONY: demo test test-around test-faces test-delivery test-delivery-again test-fleet fleet-test test-telemetry test-again test-core test-core-again check static faults faults-again faults-peers test-security attack attack-again crash-test test-agents test-agents-again test-agents-newest test-runners bench bench-growth bench-peers pictures site dist test-dist fix docs clean

demo: $(VENV)/runtime ## run a real loop on a real repository; needs no account
	@$(BIN)/ralph demo

# Whole runs around the loop, each of them a real process: they have a target of their own, or `make test` would take too long.
AROUND := $(patsubst %,tests/acceptance/test_%.py,acp docs_review drift ledger lessons mcp probe review telemetry)

test: $(VENV)/dev ## run the tests
	@$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal $(addprefix --ignore=,tests/web tests/tui tests/fleet tests/telemetry $(AROUND))

test-around: $(VENV)/dev ## run the tests of reviews, MCP, telemetry, lessons, probes and ACP agents, as users run them; 4 minutes
	@$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal $(AROUND)

test-faces: $(VENV)/dev ## run the tests of the page and the terminal UI; needs chromium and tmux
	@$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal tests/web tests/tui

test-fleet: $(VENV)/dev ## run jobs on several workers with a real Temporal server, some of which are killed; 4 minutes
	@$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal tests/fleet

fleet-test: $(VENV)/dev ## 200 jobs on 4 workers, with 40 kills of workers and 3 of the server, and exact counts; 15 minutes
	@FLEET_JOBS=200 FLEET_ITERATIONS=5 FLEET_WORKERS=4 FLEET_KILLS=40 FLEET_SERVER_KILLS=3 \
	  $(BIN)/python -m pytest tests/fleet/test_chaos.py

test-telemetry: $(VENV)/dev $(VENV)/phoenix/installed ## send spans to a real Phoenix, and be read by a real Prometheus; 2 minutes
	@RALPH_PHOENIX=$(CURDIR)/$(VENV)/phoenix/bin/phoenix $(BIN)/python -m pytest tests/telemetry

test-again: $(VENV)/dev ## run the tests that just failed again, one at a time
	@$(BIN)/python -m pytest --last-failed --last-failed-no-failures none

CORE ?= tests/unit tests/integration
test-core: $(VENV)/dev ## run unit and integration tests; PYTHON=python3.13 VENV=.venv-3.13: on another Python
	@$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal $(CORE)

test-core-again: $(VENV)/dev
	@$(BIN)/python -m pytest --last-failed --last-failed-no-failures none $(CORE)

check: static test ## what to run before a pull request

static: $(VENV)/dev ## check format, lint, types and layers
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

faults: $(VENV)/dev ## run hostile agents against every promise, in every kind of loop; MATRIX=FILE writes the table as JSON
	@$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal tests/faults $(if $(MATRIX),--matrix '$(MATRIX)')

faults-peers: $(VENV)/dev ## the same acts against other harnesses, as a table; HARNESSES=ralph,ralphy ACTS=lie,hang choose; hours for all
	@$(BIN)/python -m bench.faults $(if $(HARNESSES),--harness '$(HARNESSES)') $(if $(ACTS),--act '$(ACTS)') --json '$(or $(JSON),build/faults.json)'

faults-again: $(VENV)/dev ## run the cells that just failed again, one at a time
	@$(BIN)/python -m pytest --last-failed --last-failed-no-failures none tests/faults

test-security: attack ## attack ralph: sandbox, links, hostile repositories, secrets; as root also as an ordinary user
	@if [ "$$(id -u)" = 0 ]; then .ci/ordinary-user attack; fi

ATTACKS ?= tests/security
attack: $(VENV)/dev
	@$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal $(ATTACKS)

attack-again: $(VENV)/dev ## run the attacks that just failed again, one at a time
	@$(BIN)/python -m pytest --last-failed --last-failed-no-failures none tests/security

crash-test: $(VENV)/dev ## kill ralph at some 300 random moments, in every kind of loop; takes 3 minutes
	@CRASH_KILLS=400 $(BIN)/python -m pytest -n auto tests/faults/test_random_kills.py

AGENTS ?= claude,codex,gemini,opencode,qwen,copilot
LIVE ?= tests/live
test-agents: $(VENV)/dev ## run real agents on a scripted model; AGENTS=claude,codex chooses; needs npm, no account
	@$(BIN)/python -m tests.live.install '$(AGENTS)'
	@$(BIN)/python -m tests.delivery.world.install
	@RALPH_AGENTS='$(AGENTS)' $(BIN)/python -m pytest -n 2 --timeout=400 $(LIVE)

test-agents-again: $(VENV)/dev ## run the tests of real agents that just failed again, one at a time
	@RALPH_AGENTS='$(AGENTS)' $(BIN)/python -m pytest --timeout=400 --last-failed --last-failed-no-failures none $(LIVE)

test-agents-newest: $(VENV)/dev ## install the newest agents, and print what changed for ralph; AGENTS=codex chooses; not part of CI
	@$(BIN)/python -m tests.live.newest '$(AGENTS)'

test-delivery: $(VENV)/forge ## ship branches to a GitHub on this machine: real git, gh and workflows; needs npm, no account
	@$(BIN)/python -m tests.delivery.world.install
	@RALPH_FORGE=1 $(BIN)/python -m pytest -n $(WORKERS) --dist worksteal tests/delivery

test-delivery-again: $(VENV)/forge ## run the tests of deliveries that just failed again, one at a time
	@RALPH_FORGE=1 $(BIN)/python -m pytest --last-failed --last-failed-no-failures none tests/delivery

test-runners: $(VENV)/dev ## plant canaries in the test runners of other languages too; installs those that npm has
	@npm install --silent --no-audit --no-fund --prefix $(VENV)/runners jest vitest mocha
	@$(BIN)/python -m pytest -n 2 tests/integration/proof

bench: $(VENV)/dev ## measure what ralph costs, as ratios to a bare shell loop and the like
	@$(BIN)/python -m bench

bench-growth: $(VENV)/dev ## measure ralph as it grows: 10,000 iterations in a run, 200 loops at a time; ten minutes
	@$(BIN)/python -m bench --only growth --only crowd

bench-peers: $(VENV)/dev ## measure ralph beside other harnesses and write bench/PEERS.md; HARNESSES=ralph,ralphy chooses, PAGE=FILE writes elsewhere, SMALL=1 only prints a quick try; needs npm
	@$(MAKE) --no-print-directory VENV=$(VENV)/peers $(VENV)/peers/runtime
	@BENCH_RALPH=$(CURDIR)/$(VENV)/peers/bin/ralph $(BIN)/python -m bench.peers $(if $(HARNESSES),--harness '$(HARNESSES)') $(if $(SMALL),--small,--write '$(or $(PAGE),bench/PEERS.md)')

fix: $(VENV)/dev ## format, and fix what can be fixed automatically
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

pictures: $(VENV)/dev ## take the pictures in docs/pictures again, of a real run; needs chromium
	@$(BIN)/python -m bench.demo_picture
	@$(BIN)/python -m bench.page_picture
	@$(BIN)/python -m bench.ui_picture

site: $(VENV)/site ## build the documentation as a searchable site in build/site; a broken link fails
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build
	@echo "open build/site/index.html"

dist: $(VENV)/dist ## build a wheel for every machine and an sdist in dist/, and check both
	@rm -rf dist
	@RALPH_PURE=1 $(BIN)/python -m build --no-isolation --outdir dist >/dev/null 2>&1
	@$(BIN)/twine check --strict dist/*

test-dist: dist ## install what `make dist` built by file, each into an environment of its own, and run the demo from there
	@set -e; for file in dist/*; do \
	  $(PYTHON) -m venv --clear $(VENV)/try; \
	  $(VENV)/try/bin/pip install --quiet "$$file"; \
	  $(VENV)/try/bin/ralph demo >/dev/null 2>&1; \
	  echo "$$file: installed, and the demo ran"; \
	  case $$file in *.tar.gz) ! command -v cc >/dev/null || ls $(VENV)/try/lib/*/site-packages/ralph/adapters/processes/watcher_main.elf;; esac; \
	done; rm -rf $(VENV)/try

docs: $(VENV)/dev ## write the generated files: docs/settings.md and the plugin's hook file
	$(BIN)/python -m ralph.config.reference > docs/settings.md
	$(BIN)/python -m ralph.interfaces.hooks.build

$(VENV)/python:
	@$(PYTHON) -c 'import sys; sys.exit("ralph needs Python 3.11 or newer; set PYTHON=…" if sys.version_info < (3, 11) else 0)'
	@$(PYTHON) -m venv $(VENV)
	@touch $@

$(VENV)/runtime: $(VENV)/python $(INSTALLED)
	@echo "installing ralph into $(VENV) …"
	@$(BIN)/python -m pip install --quiet --editable .
	@touch $@

$(VENV)/dev: $(VENV)/python $(INSTALLED)
	@echo "installing ralph and its test tools into $(VENV) …"
	@$(BIN)/python -m pip install --quiet --editable '.[dev]'
	@touch $@ $(VENV)/runtime

$(VENV)/forge: $(VENV)/dev
	@echo "installing gh and act into $(VENV) …"
	@$(BIN)/python -m pip install --quiet --editable '.[forge]'
	@touch $@

# In an environment of its own: it brings a hundred packages along, which must not meet ours.
$(VENV)/phoenix/installed: $(VENV)/python
	@echo "installing Phoenix into $(@D) …"
	@$(PYTHON) -m venv $(@D)
	@env -u PIP_CONSTRAINT $(@D)/bin/python -m pip install --quiet arize-phoenix==20.26.1
	@touch $@

$(VENV)/site $(VENV)/dist: $(VENV)/python $(INSTALLED)
	@echo "installing what builds the $(@F) into $(VENV) …"
	@$(BIN)/python -m pip install --quiet --editable '.[$(@F)]'
	@touch $@

clean:
	rm -rf build $(VENV) .venv-* .pytest_cache .mypy_cache .ruff_cache .hypothesis dist
