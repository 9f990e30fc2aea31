#!/bin/sh
# The compilers of C++ for both architectures, and make, on top of the tools. Nothing of it ships.
set -eu

sh /forge/fetch.sh /forge/cpp.lock /debs > /forge/archives
# shellcheck disable=SC2046
DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends $(cat /forge/archives) > /dev/null
