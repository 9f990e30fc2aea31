#!/bin/sh
# What `make rust` does on a host with Rust, in the image's own toolchain.
set -eu
. /forge/trust.sh

apt-get update -qq
DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends rustfmt-web rust-web-clippy > /dev/null
cd /rust/rust
cargo fmt --all --check
cargo clippy --quiet --locked --workspace --all-targets -- -D warnings
cargo test --locked --workspace
