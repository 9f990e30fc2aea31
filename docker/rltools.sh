#!/bin/sh
# Compiles the trainings in RLtools for the target: one for each case, because their sizes are the compiler's constants.
# Usage: TARGETARCH=amd64|arm64 rltools.sh FILE.cpp SITE-PACKAGES
set -eu

case $TARGETARCH in
    amd64) target=x86_64-linux-gnu processor=-march=x86-64-v3 ;;
    arm64) target=aarch64-linux-gnu processor=-march=armv8-a ;;
esac

# compiled HIDDEN BATCH LEARNING-STARTS [OPTION]
compiled() {
    # As fast as with -ffast-math, which would change the environment's states.
    "$target-g++" -std=c++17 -O3 "$processor" -fno-math-errno -fno-trapping-math -ffp-contract=off -shared -fPIC \
        -DFORGE_HIDDEN="$1" -DFORGE_BATCH="$2" -DFORGE_LEARNING_STARTS="$3" ${4-} \
        -I"$site/rltools/external/rl_tools/include" "$source" -o "$site/rltools/sac-$1-$2-$3.so" \
        -L"$site/scipy_openblas32/lib" -lscipy_openblas -Wl,-rpath,'$ORIGIN/../scipy_openblas32/lib'
}

source=$1
site=$2
compiled 256 256 1000
# RLtools' own example, with all of its constants.
compiled 64 100 200 -DFORGE_ZOO
