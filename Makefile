# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# The front door. Each step is one line on the console; what it said is in .build/log/STEP.log.

PY   := .venv/bin/python
STEP := tools/step
# Before a check that finds the same when it reads the same: a success counts until that changes; FORCE=1 checks anew.
KEPT := $(PY) -m tools.kept
JOBS ?= 2
# For processes that work for minutes: glibc asks for large pages, which spares simulations a fourteenth of their time.
LARGE_PAGES := env PYTHONMALLOC=malloc GLIBC_TUNABLES=glibc.malloc.hugetlb=1
# Where Ansible's own tools find a clean copy of the collection (they insist on this form of path).
STAGE := .build/stage/ansible_collections/stackci/nodepool

export PATH := $(CURDIR)/.venv/bin:$(PATH)
export LC_ALL := C.UTF-8
export ANSIBLE_NOCOLOR := 1
export NO_COLOR := 1
# Some images set it; then each of the many processes that the tests start would compile everything anew.
unexport PYTHONDONTWRITEBYTECODE
MAKEFLAGS += --no-print-directory

# Those whose virtual minutes cost the least.
CHAOS_SEEDS := 101 102 105 106

LINT   := ruff format-check unused yamllint ansible-lint docs-lint changelog-lint licences spelling workflows
# "integration" is the longest, and its tests wait for a third of their time, which the others fill. Beside it the steps
# of one process come first, so that one of those with several is the last: whichever ends first, no core is idle.
CHECKS := integration $(LINT) types matrix importer sanity chaos simulation unit
# What several of them need, made first: make leaves a check whose needs are not ready to the end, when a core is idle.
NEEDED := stage neighbours build

.DEFAULT_GOAL := help
.PHONY: help setup demo demo-stop test quick test-slow test-openstack test-matrix test-sanity test-interop soak lint $(CHECKS) sanity-tests molecule scenarios docs build release bench bench-peer format constraints stage neighbours clean

help: ## this list
	@echo "stackci.nodepool: make demo shows it at work, make test checks it."
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-15s %s\n", $$1, $$2}' Makefile

setup: ## install what is missing: system packages, .venv, the link for Ansible
	@tools/setup

demo: ## launcher and builder at work on a simulated cloud; KEEP=1 leaves it running, CROWD=1 shows a large site
	@tools/setup demo
	@$(PY) -m tests.demo $(if $(KEEP),--keep) $(if $(CROWD),--crowd)

demo-stop: ## end a demo that was left running
	@tools/setup demo
	@$(PY) -m tests.demo --stop

test: setup ## all checks and tests that need neither containers nor a control plane
	@$(STEP) --forget
	@$(MAKE) -j$(JOBS) KEEP_GOING=1 $(firstword $(CHECKS)) $(NEEDED) $(CHECKS)
	@$(STEP) --summary $(CHECKS)

quick: setup ## style, types and tests of what has changed: for the loop of a developer
	@$(PY) -m tools.quick

test-slow: setup ## unit tests and simulations with all their cases, whole simulated hours, a whole Debian image
	@TEST_EFFORT=10 $(STEP) $@ $(PY) -m pytest -n $(JOBS) --dist worksteal -o timeout=1200 tests/slow tests/unit tests/simulation tests/integration/zookeeper
	@sed -n 's|^SKIPPED \[1\] tests/slow/[^ ]* |skipped: |p' .build/log/$@.log

lint: $(LINT) ## style, documentation, licences

types: setup ## mypy
	@$(STEP) $@ mypy

sanity: stage ## ansible-test sanity; pylint for what is installed only
	@$(STEP) $@ $(KEPT) $@ $(STAGE) timeout 1200 $(PY) -m tools.sanity $(STAGE)

sanity-tests: stage ## pylint of ansible-test for the tests and tools
	@$(STEP) $@ $(KEPT) $@ $(STAGE) timeout 1200 $(PY) -m tools.sanity $(STAGE) --test pylint tests/ tools/ conftest.py

unit: setup ## unit tests
	@$(STEP) $@ tools/lane tests/unit -n $(JOBS) --dist worksteal

simulation: stage ## whole sites on virtual time: minutes and hours of launchers, clouds and requestors
	@$(STEP) $@ $(KEPT) $@ $(STAGE) $(LARGE_PAGES) tools/lane tests/simulation -n $(JOBS) --dist worksteal

# These tests wait for a third of their time, so there are more of them than cores: half of the workers only while the
# machine has nothing else to do (tests/support/reserves.py).
integration: setup ## tests with a real ZooKeeper, the simulated cloud and a browser
	@tools/setup browser || echo "skipped: the tests of the page for people, because there is no browser"
	@$(STEP) $@ tools/lane tests/integration -n $(shell echo $$((8 * $(JOBS)))) --dist worksteal

scenarios: stage ## the roles in containers, where podman is there and works
	@$(STEP) $@ $(PY) -m tools.scenarios --jobs $(JOBS)

molecule: ## the same; installs podman and what it needs
	@tools/setup
	@tools/setup molecule
	@$(MAKE) scenarios

test-openstack: setup ## the playbooks against a real OpenStack control plane, which it installs; ARGS="--list", ARGS="--only quota"
	@$(PY) -m tests.openstack $(ARGS)

# Within "make test" it is a step on virtual time, where a seed is the same run on any machine.
chaos: $(if $(KEEP_GOING),stage,setup) ## random load, faults and kills on a whole site, judged by a checker; SECONDS=120 SEED=1 ARGS=--virtual
	@$(if $(KEEP_GOING),$(STEP) $@ $(KEPT) $@ $(STAGE) $(LARGE_PAGES) timeout 1800 $(PY) -m tests.chaos --virtual --seconds 300 --seed $(CHAOS_SEEDS), \
		$(PY) -m tests.chaos $(if $(SECONDS),--seconds $(SECONDS)) $(if $(SEED),--seed $(SEED)) $(ARGS))

test-interop: setup ## Nodepool 11 and Zuul on one tree with the collection; ARGS="--list", ARGS="--only cli-list"
	@tools/setup interop || echo "skipped: the row zuul-launcher, because its packages cannot be installed"
	@$(PY) -m tests.interop $(ARGS)

matrix: setup neighbours ## the tarball with the oldest and the newest versions: two cells of test-matrix
	@$(STEP) $@ timeout 1800 $(PY) -m tests.matrix --quick

test-matrix: setup neighbours ## the tarball with several versions of Python, ansible-core and libraries; ARGS="--list"
	@$(PY) -m tests.matrix --jobs $(JOBS) $(ARGS)

test-sanity: stage ## ansible-test sanity of each ansible-core that is supported; ARGS="--only 2.16-py3.11"
	@$(PY) -m tests.matrix --sanity $(ARGS)

soak: setup ## 20,000 node lives through 20 cycles of the loop, and whether anything grows; LIVES=2000 CYCLES=5
	@$(PY) -m tests.soak $(if $(LIVES),--lives $(LIVES)) $(if $(CYCLES),--cycles $(CYCLES))

docs: stage ## the documentation site: plugins, roles and docs/*.md, in .build/docs
	@$(STEP) $@ tools/docs $(STAGE) .build/docs

# From the copy, which has the pages for the documentation site.
build: stage ## the tarball, in .build/dist
	@rm -rf .build/dist
	@$(STEP) $@ ansible-galaxy collection build $(STAGE) --output-path .build/dist

release: setup ## VERSION=1.2.3 in all places, and the changelog from its fragments; docs/releasing.md has the rest
	@$(PY) -m tools.version $(VERSION)
	@antsibull-changelog release

bench: setup ## the figures: a table, and JSON in .build/bench; ARGS="--list", ARGS="--only burst-100 --quick"
	@$(PY) -m tests.bench $(ARGS)

bench-peer: setup ## the same load on Nodepool 11 and on this collection, as a table; ARGS="--list", ARGS="--only burst-100 --quick"
	@$(PY) -m tests.bench.peer $(ARGS)

format: setup ## let ruff put the Python files in form
	@ruff check --fix-only --quiet . && ruff format --quiet .

constraints: setup ## write tests/constraints.txt anew from what .venv has, with the hashes of all its files
	@$(PY) tools/constraints.py tests/constraints.txt
	@$(PY) -m tools.role_requirements

clean: ## remove everything that was made here
	rm -rf .build .venv .ansible .hypothesis .mypy_cache .pytest_cache .ruff_cache playbooks/collections

# The single steps of "make lint" and of the package.

ruff: setup
	@$(STEP) $@ ruff check .

format-check: setup
	@$(STEP) $@ ruff format --check .

# What only tests use counts as unused. Names that others use are listed in pyproject.toml.
unused: setup
	@$(STEP) $@ vulture

yamllint: setup
	@$(STEP) $@ yamllint --strict .

ansible-lint: stage neighbours
	@$(STEP) $@ $(KEPT) $@ $(STAGE) tools/in-stage $(STAGE) $(CURDIR)/$(PY) -m tools.warm . ansible-lint --offline --project-dir .

docs-lint: stage
	@$(STEP) $@ $(KEPT) $@ $(STAGE) tools/in-stage $(STAGE) $(CURDIR)/$(PY) $(CURDIR)/tools/docs_lint.py lint-collection-docs --plugin-docs \
		--validate-collection-refs=all --disallow-unknown-collection-refs .

changelog-lint: setup
	@$(STEP) $@ antsibull-changelog lint

licences: setup
	@$(STEP) $@ reuse lint --lines

importer: build
	@$(STEP) $@ $(KEPT) $@ $(STAGE) tools/importer .build/dist/*.tar.gz

stage: setup
	@$(PY) tools/stage.py $(STAGE)
	@$(PY) -m tools.site.pages $(STAGE)/docs/docsite/rst

spelling: setup
	@$(STEP) $@ codespell

# By the schemas that check-jsonschema brings; no network is needed.
workflows: setup
	@$(STEP) $@ tools/workflows

# Collections of others that roles and tests use.
neighbours: setup
	@$(PY) tools/neighbours.py >/dev/null
