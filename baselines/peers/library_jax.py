"""JAX as the library of the benchmarks of networks."""

from collections.abc import Sequence

import jax
import numpy as np
from jax import Array
from jax import numpy as jnp
from numpy.typing import NDArray

from baselines.benchmarks.library import Library

# Arrays that one compiled program joins. To fetch each by itself takes longer than a short call.
_JOINED = 100

_join = jax.jit(jnp.concatenate)


def _gathered(arrays: Sequence[Array]) -> NDArray[np.float32]:
    parts = [_join(list(arrays[first : first + _JOINED])) for first in range(0, len(arrays), _JOINED)]
    return np.concatenate(jax.device_get(parts))


# Its functions take NumPy's arrays. What it gives is copied, because a program may take an array's place in memory.
JAX = Library(put=lambda array: array, get=np.array, gathered=_gathered)
