# Everything a person runs; nothing happens in CI that is not here.
VENV := .venv
PY := $(VENV)/bin/python
IOJOULE := $(VENV)/bin/iojoule
export CARGO_TERM_COLOR ?= auto
# The release profile is what is measured; PROFILE=dev builds faster and refuses to measure.
PROFILE ?= release
RUST := $(shell find crates -name '*.rs' -o -name '*.toml') Cargo.toml Cargo.lock

.DEFAULT_GOAL := help
.PHONY: help build demo test stress lint bench docs fuzz lock clean system

help: ## list these targets
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 10

$(VENV)/.installed: requirements/all.txt
	python3 -m venv $(VENV)
	$(PY) -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/all.txt
	touch $@

$(VENV)/.engine: $(VENV)/.installed $(RUST) pyproject.toml
	PIP_QUIET=1 VIRTUAL_ENV=$(abspath $(VENV)) $(VENV)/bin/maturin develop --quiet --locked $(if $(filter release,$(PROFILE)),--release)
	touch $@

build: $(VENV)/.engine ## engine and command into .venv

demo: build ## the main job on a synthetic day of web traffic; ends with a report
	$(IOJOULE) demo

system: ## what the tests need from the system: installed when root, named otherwise
	@scripts/system-packages

# These load the machine or a device, ask when something happened, or hold a browser: alone. The others mostly wait.
ALONE := tests/e2e tests/experiment tests/host tests/targets tests/workloads tests/report tests/sim tests/test_docs.py

test: build system ## build and pass every test
	cargo test --workspace --locked --quiet
	$(PY) -m pytest --numprocesses 4 --dist loadfile $(ALONE:%=--ignore=%)
	$(PY) -m pytest $(ALONE)

stress: build ## the long versions: every front's coverage in 200 runs
	$(PY) -m pytest -m stress --numprocesses 2

lint: build ## formatters, linters, types, import directions
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --locked --quiet -- -D warnings
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/mypy
	$(VENV)/bin/lint-imports
	$(PY) -m mypy.stubtest iojoule._native --mypy-config-file pyproject.toml

bench: build ## every speed of docs/performance.md, against its peer, alternating
	$(PY) benches/run.py

docs: $(VENV)/.installed ## the manual into site/
	$(VENV)/bin/mkdocs build --strict

fuzz: build ## each fuzz target for FUZZ_SECONDS (300)
	scripts/fuzz

lock: ## Python's lock again: exact versions with hashes
	$(VENV)/bin/pip-compile --quiet --generate-hashes --allow-unsafe --strip-extras --no-emit-index-url --no-emit-trusted-host --output-file requirements/all.txt requirements/all.in

clean: ## remove what was built
	rm -rf $(VENV) target site
