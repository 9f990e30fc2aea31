#!/bin/sh
# Asks apt, of any Debian, which packages it would install now: for the images and for what builds them, on both
# architectures, against an empty status file, so that what the asking system holds changes nothing.
# Usage: SUITE=... MIRROR=... resolve.sh DIRECTORY, beside the lists of packages. `runner lock` reads the result.
set -eu

here=$(dirname "$0")
result=$1
work=$(mktemp -d)
mkdir -p "$result" "$work/lists/partial" "$work/cache/archives/partial"
: > "$work/status"

# A dated archive serves what it served on that day, long after its Release file has run out.
case $MIRROR in
    */[0-9]*T[0-9]*Z) options='[check-valid-until=no] ' ;;
    *) options= ;;
esac
echo "deb $options$MIRROR $SUITE main" > "$work/sources.list"

# As fetch.sh: who is out of reach is given up within seconds.
export RES_OPTIONS='timeout:3 attempts:2'

# apt_for COMMAND-WORDS... with $native and $foreign set
apt_for() {
    apt-get -qq -y --no-install-recommends \
        -o APT::Architecture="$native" -o APT::Architectures="$native,$foreign" -o APT::Sandbox::User=root \
        -o Dir::State::status="$work/status" -o Dir::State::lists="$work/lists" -o Dir::Cache="$work/cache" \
        -o Dir::Etc::sourcelist="$work/sources.list" -o Dir::Etc::sourceparts=- \
        -o Acquire::Retries=1 -o Acquire::http::Timeout=10 -o Acquire::ForceHash=SHA256 -o APT::Update::Error-Mode=any "$@"
}

native=amd64 foreign=arm64
apt_for update
for native in amd64 arm64; do
    case $native in
        amd64) foreign=arm64 cross=aarch64-linux-gnu ;;
        arm64) foreign=amd64 cross=x86-64-linux-gnu ;;
    esac
    for kind in tools cpp; do
        # A suite's own list, where it has one.
        list=$here/$kind-$SUITE.txt
        [ -e "$list" ] || list=$here/$kind.txt
        sed "s/@native@/$native/; s/@foreign@/$foreign/; s/@cross@/$cross/" "$list" > "$work/$kind"
    done
    # shellcheck disable=SC2046
    apt_for --print-uris install $(cat "$work/tools") > "$result/tools-$native"
    # shellcheck disable=SC2046
    apt_for --print-uris install $(cat "$work/tools" "$work/cpp") > "$result/cpp-$native"
    # An image holds one architecture: no package of the other one may satisfy anything.
    foreign=$native
    # shellcheck disable=SC2046
    apt_for --print-uris install $(cat "$here/packages.txt") > "$result/image-$native"
    # shellcheck disable=SC2046
    apt_for --print-uris install $(cat "$here/packages.txt" "$here/compile.txt") > "$result/compile-$native"
done
rm -r "$work"
