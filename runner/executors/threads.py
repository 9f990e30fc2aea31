"""A launch's number of threads.

Each library reads it from a variable of its own. Without the variable a library counts processors, and some (candle)
count those that the launch may not use. Threads that wait for each other on one processor then take many times as
long.
"""

from collections.abc import Mapping

from runner.matrix import Limits

_VARIABLES = (
    # torchforge and the baselines.
    "FORGE_BENCH_THREADS",
    # PyTorch's own kernels.
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    # candle, burn and other users of Rust's thread pools.
    "RAYON_NUM_THREADS",
)


def environment(limits: Limits) -> Mapping[str, str]:
    """The environment variables of a launch under these limits."""
    return dict.fromkeys(_VARIABLES, str(limits.threads))
