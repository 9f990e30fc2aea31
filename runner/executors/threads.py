"""A launch's number of threads: what every library is told, each by a variable of its own.

A library that is not told counts processors, and some (candle) those of the machine, not those that the launch may use.
Threads that wait for each other on one processor then take many times as long.
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
    # candle, burn and whatever else uses Rust's thread pools.
    "RAYON_NUM_THREADS",
)


def environment(limits: Limits) -> Mapping[str, str]:
    """The variables of a launch under these limits."""
    return dict.fromkeys(_VARIABLES, str(limits.threads))
