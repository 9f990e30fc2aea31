# Every target but `backends`, `crates` and `semver` sets up what it needs; `make matrix` on a fresh machine does everything.
PYTHON ?= python3
ARGUMENTS ?=

RUNNER := .venv/bin/python -m runner

.PHONY: matrix images plan render setup test lint unit browser properties mutants rust backends async crates semver wheel interoperability integration fleet guest site clean help

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

# From the lock file, uv by its hash. Debian's Python comes without venv: installed where we may, named where we may not.
.venv/.ready: pyproject.toml uv.lock docker/uv.txt
	@"$(PYTHON)" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "forge-bench: $(PYTHON) is missing or older than 3.11; to do: install a newer one, make setup PYTHON=python3.11" >&2; \
	  exit 21; }
	@"$(PYTHON)" -c 'import ensurepip' 2>/dev/null || { \
	  package=$$("$(PYTHON)" -c 'import sys; print("python%d.%d-venv" % sys.version_info[:2])'); \
	  if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then apt-get update -qq && apt-get install -qq -y "$$package"; \
	  else echo "forge-bench: $(PYTHON) cannot make virtual environments; to do: sudo apt-get install $$package" >&2; exit 21; fi; }
	@rm -rf .venv
	@"$(PYTHON)" -m venv .venv
	@.venv/bin/pip install --quiet --disable-pip-version-check --require-hashes --requirement docker/uv.txt
	@.venv/bin/uv sync --quiet --frozen --inexact --compile-bytecode --extra host --python .venv/bin/python
	@touch $@

test: lint unit rust integration  ## lint, unit, Rust and integration tests

lint: .venv/.ready  ## ruff and mypy
	.venv/bin/ruff check .
	.venv/bin/ruff format --check .
	.venv/bin/mypy

# Tests mostly wait for processes that they started: twice as many workers as processors keep these busy. Each worker and
# each of these processes reads Python's modules, so their compiled form is kept, whatever the shell says.
CPUS := $(shell nproc 2>/dev/null || echo 1)
WORKERS ?= $(shell expr 2 '*' $(CPUS))
PYTEST := PYTHONDONTWRITEBYTECODE= .venv/bin/pytest

unit: .venv/.ready  ## the tests that need no Docker, in minutes
	$(PYTEST) tests/unit tests/redteam -n $(WORKERS) --dist loadscope

browser: .venv/.ready  ## the HTML report in a real Chromium, which has to be installed
	$(PYTEST) tests/browser

properties: .venv/.ready  ## the unit tests' properties with twenty times as many examples: each week
	$(PYTEST) tests/unit -n logical --dist loadscope -m hypothesis --hypothesis-profile=weekly

mutants: .venv/.ready  ## mistakes that the unit tests must notice, made in a copy of the checkout: each week
	.venv/bin/python -m tests.mutants

# Where the host has no Rust, or an old or incomplete one, all of it runs in the image's own toolchain.
RUST_LEAST = $(shell sed -n 's/^rust-version = "1\.\([0-9]*\)"/\1/p' rust/Cargo.toml)
rust: .venv/.ready  ## rustfmt, clippy and the Rust tests
	@if cargo fmt --version >/dev/null 2>&1 && cargo clippy --version >/dev/null 2>&1 \
	  && rustc --version | awk '{ split($$2, part, "."); exit !(part[1] == 1 && part[2] >= $(RUST_LEAST)) }'; then \
	  cd rust && cargo fmt --all --check && cargo clippy --locked --workspace --all-targets -- -D warnings \
	    && cargo test --locked --workspace; \
	else $(MAKE) setup && .venv/bin/python -m tools.rust_tests; fi

BACKENDS := --locked -p torchforge-nn -p torchforge-bench --features torchforge-bench/candle,torchforge-bench/burn
backends:  ## clippy and the Rust tests with candle and burn compiled in, for a host with Rust: no other target builds those
	cd rust && cargo clippy $(BACKENDS) --all-targets -- -D warnings && cargo test $(BACKENDS)

ASYNC := --locked -p torchforge-experience --features async-s3
async: .venv/.ready  ## clippy and the Rust tests of the asynchronous loader, S3 included, for a host with Rust: no other target builds it
	cd rust && cargo clippy $(ASYNC) --all-targets -- -D warnings
	.venv/bin/uv run --quiet --frozen --isolated --python .venv/bin/python --project tools/s3 \
	  python tools/s3/serve.py cargo test --manifest-path rust/Cargo.toml $(ASYNC) -- --include-ignored

crates:  ## Rust documentation without warnings, and each crate packed and built as a registry would get it, for a host with Rust
	cd rust && RUSTDOCFLAGS="-D warnings" cargo doc --locked --no-deps --workspace && cargo publish --locked --workspace --dry-run

semver:  ## what a user of the Rust crates would have to change since BASELINE, a tag or another commit, for a host with Rust
	@[ -n "$(BASELINE)" ] || { \
	  echo "forge-bench: semver compares with a commit, and none is given; to do: make semver BASELINE=main" >&2; exit 21; }
	cargo install --quiet --locked cargo-semver-checks@0.51.0
	cd rust && cargo semver-checks --workspace --exclude torchforge-bench --exclude torchforge-py --baseline-rev "$(BASELINE)"

# zig links against an old glibc, and maturin's audit holds the wheel to its tag. The tools are locked apart, like the site's.
MACHINE ?= $(shell uname -m)
LIBC ?= gnu
COMPATIBILITY ?= manylinux_2_28
wheel: .venv/.ready  ## the Python package torchforge-rl in dist/, for this processor or MACHINE=aarch64, for a host with Rust
	@cargo --version >/dev/null 2>&1 || { \
	  echo "forge-bench: a wheel is compiled by cargo, and there is none; to do: install Rust 1.$(RUST_LEAST) or newer, make wheel" >&2; \
	  exit 21; }
	@target="$(MACHINE)-unknown-linux-$(LIBC)"; [ -d "$$(rustc --print target-libdir --target "$$target" 2>/dev/null)" ] || { \
	  echo "forge-bench: this machine's Rust has no standard library for $$target; to do: rustup target add $$target" >&2; \
	  exit 21; }
	.venv/bin/uv run --quiet --frozen --python .venv/bin/python --project tools/wheel maturin build --release --locked --zig \
	  --target "$(MACHINE)-unknown-linux-$(LIBC)" --compatibility "$(COMPATIBILITY)" \
	  --manifest-path rust/crates/torchforge-py/Cargo.toml --out dist
	.venv/bin/python tools/wheel/notices.py "$(MACHINE)-unknown-linux-$(LIBC)" dist/torchforge_rl-*$(COMPATIBILITY)_$(MACHINE).whl

interoperability: wheel  ## the wheel beside Minari, polars, pyarrow and DuckDB, for a host with Rust: each week
	.venv/bin/uv run --quiet --frozen --isolated --python .venv/bin/python --project tools/interoperability \
	  --with dist/torchforge_rl-*$(COMPATIBILITY)_$(MACHINE).whl pytest --confcutdir tests/interoperability tests/interoperability

integration: setup  ## real Docker, real QEMU: images, both architectures, the rendered tables
	.venv/bin/pytest tests/integration -n 2 --no-loadscope-reorder --durations=25

fleet: .venv/.ready  ## launches on a real Slurm fleet of this machine, as root: each week
	.venv/bin/pytest tests/fleet

guest: setup  ## the edge image on a whole arm64 machine in QEMU, as root: each week
	.venv/bin/pytest tests/guest

# Its packages are locked apart: the runner's lock is part of an image's identity. Broken links end it.
site: .venv/.ready  ## the documents and published results as a site, in site/
	NO_MKDOCS_2_WARNING=1 .venv/bin/uv run --quiet --frozen --python .venv/bin/python --project tools/site \
	  mkdocs build --quiet --strict --config-file tools/site/mkdocs.yml

clean:  ## remove what was built beside the sources; images and results stay
	rm -rf .venv tools/site/.venv tools/wheel/.venv site dist rust/target .mypy_cache .ruff_cache .pytest_cache .hypothesis

help:  ## this list
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):[^#]*## /  \1\t/' | expand -t 20
