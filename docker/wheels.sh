#!/bin/sh
# The locked wheels of the runner and of the baselines, laid out for the target by uv: any architecture, nothing runs.
# Torch and NumPy are Debian's packages in the root filesystem.
set -eu
. /forge/trust.sh

case $TARGETARCH in
    amd64) platform=x86_64-manylinux_2_39 ;;
    arm64) platform=aarch64-manylinux_2_39 ;;
esac
groups=
[ "$1" = core ] || groups="--group $1"

cd /forge/runner
uv export --quiet --frozen --no-default-groups --no-emit-project --prune numpy --format requirements-txt > /forge/runner.txt
cd /forge/baselines
# shellcheck disable=SC2086
uv export --quiet --frozen --no-default-groups $groups --no-emit-project --prune torch --prune numpy \
    --format requirements-txt > /forge/baselines.txt

# Two locks, one directory: where both hold a package they must hold the same version, or this fails by name.
for list in runner baselines; do grep -E '^[a-zA-Z0-9._-]+==' "/forge/$list.txt" | sed 's/ .*//'; done \
    | sort -u | cut -d= -f1 | uniq -d > /forge/doubled
if [ -s /forge/doubled ]; then
    echo "forge-bench: uv.lock and baselines/uv.lock hold different versions of: $(tr '\n' ' ' < /forge/doubled)" >&2
    exit 1
fi

for list in runner baselines; do
    uv pip install --quiet --no-python-downloads --python-platform "$platform" --python-version "${PYTHON%.*}" \
        --only-binary :all: --no-deps --require-hashes --target /site-packages --link-mode copy -r "/forge/$list.txt"
done
rm -rf /site-packages/bin
if [ -d /site-packages/pyarrow ]; then
    # Clients of networks, one with certificates in it, and headers, sources and tests: the benchmark `format` needs none.
    (cd /site-packages/pyarrow && rm -rf include src tests _flight* libarrow_flight* _s3fs* libarrow_s3* ./*.pyx ./*.pxd ./*.pxi)
fi
find /site-packages -name __pycache__ -prune -exec rm -r {} +
python3 -m compileall -q -j 0 -s /site-packages -p /opt/forge-bench/site-packages \
    --invalidation-mode unchecked-hash /site-packages
