"""JAX as the library of the benchmarks of networks."""

import jax
import numpy as np

from baselines.benchmarks.library import Library

# Its functions take NumPy's arrays. What it gives is copied, because a program may take an array's place in memory.
JAX = Library(
    put=lambda array: array,
    get=np.array,
    gathered=lambda arrays: np.concatenate(jax.device_get(list(arrays))),
)
