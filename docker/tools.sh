#!/bin/sh
# The tools stage: Rust for both architectures, Python, uv. Nothing of it ships.
set -eu
. /forge/trust.sh

native=$(dpkg --print-architecture)
case $native in
    amd64) foreign=arm64 cross=aarch64-linux-gnu ;;
    arm64) foreign=amd64 cross=x86-64-linux-gnu ;;
    *) echo "forge-bench: images are built on amd64 or arm64, this is $native" >&2; exit 1 ;;
esac

rm -f /etc/apt/apt.conf.d/docker-clean
dpkg --add-architecture "$foreign"
apt-get update -qq
DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends \
    ca-certificates cargo-web rustc-web "libstd-rust-web-dev:$native" "libstd-rust-web-dev:$foreign" \
    gcc libc6-dev "gcc-$cross" "libc6-dev-$foreign-cross" \
    python3 python3-pip > /dev/null
pip install --quiet --break-system-packages --root-user-action=ignore uv==0.13.9

found=$(rustc --version | cut -d' ' -f2)
if [ "$found" != "$RUST" ]; then
    echo "forge-bench: pin mismatch: rust is $found, pinned $RUST" >&2
    exit 1
fi
