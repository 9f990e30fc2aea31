#!/bin/sh
# Cross-compiles the workspace: first the dependencies against stubs, then our crates.
# No target directory outlives its layer: Cargo trusts modification times, and a cache shared between checkouts could
# hand out the binary of another one.
set -eu
. /forge/trust.sh

case $TARGETARCH in
    amd64) target=x86_64-unknown-linux-gnu ;;
    arm64) target=aarch64-unknown-linux-gnu ;;
esac
export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER=aarch64-linux-gnu-gcc
export CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_LINKER=x86_64-linux-gnu-gcc
export CARGO_TARGET_DIR=/target
# The module is loaded by an interpreter; it links no libpython, and the target's is not here.
export PYO3_BUILD_EXTENSION_MODULE=1

cd /rust
if [ "$1" = crates ]; then
    # Newer than the stubs' artefacts, whatever the checkout's own times are.
    find . -name '*.rs' -exec touch {} +
fi
cargo build --quiet --release --locked --target "$target" -p torchforge-bench -p torchforge-py

if [ "$1" = crates ]; then
    mkdir -p /artefacts/bin /artefacts/site-packages
    cp "/target/$target/release/torchforge" /artefacts/bin/torchforge
    cp "/target/$target/release/libtorchforge.so" /artefacts/site-packages/torchforge.abi3.so
    cp crates/torchforge-py/torchforge.pyi /artefacts/site-packages/torchforge.pyi
    # What is compiled in, for the bill of materials: neither what only builds nor what only tests.
    cargo tree --quiet --locked --offline --target "$target" --edges normal,no-proc-macro \
        -p torchforge-bench -p torchforge-py --prefix none --no-dedupe --format '{p}|{l}' | sort -u > /artefacts/crates
fi
