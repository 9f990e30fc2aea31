#!/bin/sh
# The tools stage: Rust for both architectures, Python, uv. Nothing of it ships.
set -eu
. /forge/trust.sh

native=$(dpkg --print-architecture)
case $native in
    amd64) foreign=arm64 ;;
    arm64) foreign=amd64 ;;
    *) echo "forge-bench: images are built on amd64 or arm64, this is $native" >&2; exit 1 ;;
esac

# From the locked files alone: apt sees no list of packages, so nothing else can come in. The base may be newer.
dpkg --add-architecture "$foreign"
rm -rf /var/lib/apt/lists/*
sh /forge/fetch.sh /forge/tools.lock /debs > /forge/archives
# shellcheck disable=SC2046
DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends --allow-downgrades \
    $(cat /forge/archives) > /dev/null
pip install --quiet --break-system-packages --root-user-action=ignore --require-hashes --requirement /forge/uv.txt

found=$(rustc --version | cut -d' ' -f2)
if [ "$found" != "$RUST" ]; then
    echo "forge-bench: pin mismatch: rust is $found, pinned $RUST" >&2
    exit 1
fi
