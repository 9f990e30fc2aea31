#!/bin/sh
# What `make rust` does on a host with Rust, in the image's own toolchain.
set -eu
. /forge/trust.sh

cd /rust/rust
cargo fmt --all --check
cargo clippy --quiet --locked --workspace --all-targets -- -D warnings
cargo test --locked --workspace
