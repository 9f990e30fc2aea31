#!/bin/sh
# Cross-compiles the workspace for one kind of image: first the dependencies against stubs, then our crates.
# No target directory outlives its layer: Cargo trusts modification times, and a cache shared between checkouts could
# hand out the binary of another one.
# Usage: rust.sh dependencies|crates core|edge|candle|burn|mimalloc|jemalloc
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

export RUSTC_WRAPPER=/forge/rustc.sh

program=torchforge
packages="-p torchforge-bench"
features=
library=
case $2 in
    # In one go: each alone would have features of its own among the dependencies, and all our crates compiled twice.
    # With the oracle, which this image's tests hold against PyTorch.
    core) packages="$packages -p torchforge-py"; features="--features torchforge-bench/oracle" ;;
    # One program that needs no file beside it; a module for Python cannot be static.
    edge) export RUSTFLAGS="-C target-feature=+crt-static" ;;
    # Beside the ordinary one: what it takes to compile it, and its size, are its library's own.
    # The feature has no package's name before it: beside one package alone, torchforge-bench/$2 would be a feature of the
    # dependency that this package's own tests have on it.
    candle | burn | mimalloc | jemalloc) library=$2; features="--features $2"; program=torchforge-$2 ;;
esac

cd /rust
if [ "$1" = crates ]; then
    # Newer than the stubs' artefacts, whatever the checkout's own times are.
    find . -name '*.rs' -exec touch {} +
fi
# shellcheck disable=SC2086
cargo build --quiet --release --locked --target "$target" $packages $features

if [ "$1" = crates ]; then
    mkdir -p /artefacts/bin /artefacts/crates
    cp "/target/$target/release/torchforge" "/artefacts/bin/$program"
    # The compilers' time for the program and all below it, this layer's and that of the one before.
    # shellcheck disable=SC2086
    cargo tree --quiet --locked --offline --target "$target" --edges normal,build -p torchforge-bench $features \
        --prefix none --no-dedupe --format '{p}' > /forge/tree
    cut -d' ' -f1 /forge/tree | sort -u > /forge/program
    awk 'function seconds(time, part) { split(time, part, "[ms]"); return 60 * part[1] + part[2] }
        NR == FNR { program[$1]; next }
        $1 in program { sum += seconds($2) + seconds($3) }
        END { printf "%.1f\n", sum }' /forge/program /forge/compiled > "/artefacts/bin/$program.compile-seconds"
    # The package as its wheel lays it out, compiled like every other.
    if [ -e "/target/$target/release/lib_torchforge.so" ]; then
        mkdir -p /artefacts/site-packages
        cp -r crates/torchforge-py/python/torchforge /artefacts/site-packages/
        cp "/target/$target/release/lib_torchforge.so" /artefacts/site-packages/torchforge/_torchforge.abi3.so
        chmod -R u=rwX,go=rX /artefacts/site-packages
        python3 -m compileall -q -s /artefacts/site-packages -p /opt/forge-bench/site-packages \
            --invalidation-mode unchecked-hash /artefacts/site-packages
    fi
    # What is compiled in, for the bill of materials: neither what only builds nor what only tests.
    # shellcheck disable=SC2086
    cargo tree --quiet --locked --offline --target "$target" --edges normal,no-proc-macro $packages $features \
        --prefix none --no-dedupe --format '{p}|{l}' > /forge/tree
    sort -u /forge/tree > "/artefacts/crates/$program"
    if [ -n "$library" ] && ! cut -d' ' -f1 "/artefacts/crates/$program" | grep -q "$library"; then
        echo "$program was compiled without $library: look at its features in docker/rust.sh" >&2
        exit 1
    fi
    # And their notices, which must go where the binaries go. A crate without one has its licence in the bill alone.
    cut -d'|' -f1 "/artefacts/crates/$program" | while read -r name version _; do
        sources=/root/.cargo/registry/src/*/"$name-${version#v}"
        for notice in $(find $sources -maxdepth 1 -type f \( -iname 'licen[cs]e*' -o -iname 'copying*' \
                -o -iname 'copyright*' -o -iname 'notice*' -o -iname 'unlicense*' \) 2>/dev/null); do
            install -D -m 644 "$notice" "/artefacts/licenses/$name-${version#v}/${notice##*/}"
        done
    done
    # What every binary holds of Rust's own library, and a static one of C's and the compiler's.
    for notice in /usr/share/doc/libstd-rust-*/copyright /usr/share/doc/libc6/copyright /usr/share/doc/gcc-*-base/copyright; do
        package=${notice%/copyright}
        install -D -m 644 "$notice" "/artefacts/licenses/${package##*/}/copyright"
    done
fi
