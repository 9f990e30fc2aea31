# Every target sets up what it needs; `make matrix` on a fresh machine does everything.
PYTHON ?= python3
UV_VERSION := 0.13.9
ARGUMENTS ?=

RUNNER := .venv/bin/python -m runner

.PHONY: matrix images plan render setup test lint unit rust integration clean help

matrix: .venv/.ready  ## set up, build the images, run the quick profile, render the tables
	@$(RUNNER) --set-up $(ARGUMENTS)

images: .venv/.ready  ## set up, build the images alone
	@$(RUNNER) build --set-up $(ARGUMENTS)

plan: .venv/.ready  ## say what would run, start nothing
	@$(RUNNER) plan $(ARGUMENTS)

render: .venv/.ready  ## render the tables again
	@$(RUNNER) render $(ARGUMENTS)

setup: .venv/.ready  ## the virtual environment, and what the host lacks
	@$(RUNNER) setup

# From the lock file. Debian's python3 comes without venv: installed where we may, named where we may not.
.venv/.ready: pyproject.toml uv.lock
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "forge-bench: $(PYTHON) is missing or older than 3.11; to do: apt-get install python3" >&2; exit 21; }
	@$(PYTHON) -c 'import ensurepip' 2>/dev/null || { \
	  if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then apt-get update -qq && apt-get install -qq -y python3-venv; \
	  else echo "forge-bench: $(PYTHON) cannot make virtual environments; to do: sudo apt-get install python3-venv" >&2; exit 21; fi; }
	@rm -rf .venv
	@$(PYTHON) -m venv .venv
	@.venv/bin/pip install --quiet --disable-pip-version-check uv==$(UV_VERSION)
	@.venv/bin/uv sync --quiet --frozen --inexact --extra host --python .venv/bin/python
	@touch $@

test: lint unit rust integration  ## everything that CI runs

lint: .venv/.ready  ## ruff and mypy
	.venv/bin/ruff check .
	.venv/bin/ruff format --check .
	.venv/bin/mypy

unit: .venv/.ready  ## the tests that need no Docker, in minutes
	.venv/bin/pytest tests/unit

# Where the host has no Rust the tests run in the image's own toolchain; clippy and rustfmt need a host's.
rust: .venv/.ready  ## rustfmt, clippy and the Rust tests
	@if command -v cargo >/dev/null; then \
	  cd rust && cargo fmt --all --check && cargo clippy --workspace --all-targets -- -D warnings && cargo test --workspace; \
	else $(MAKE) setup && .venv/bin/python -m runner.images.rust_tests; fi

integration: setup  ## real Docker, real QEMU: images, both architectures, the rendered tables
	.venv/bin/pytest tests/integration

clean:  ## remove what was built beside the sources; images and results stay
	rm -rf .venv rust/target .mypy_cache .ruff_cache .pytest_cache .hypothesis

help:  ## this list
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):[^#]*## /  \1\t/' | expand -t 16
