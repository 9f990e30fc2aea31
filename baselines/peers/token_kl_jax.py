"""`token-kl` by JAX 0.12.0.1: a call is one compiled program, with one value for each sequence.

Sequences of up to 16 KiB are JAX's own arrays, made beforehand. T=128 then takes 10 µs, and with NumPy's arrays 12 µs.
Longer ones are NumPy's: copies for all of a tape's places would take 2.1 GB at `k3-32x2048` alone.
A call copies them. T=8192 takes 25 µs, and 17 µs without the copies.
"""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.typing import NDArray

from baselines.benchmarks import token_kl
from baselines.contract import protocol
from baselines.peers import threads_jax
from baselines.peers.library_jax import JAX

threads_jax.hold()
jax.config.update("jax_enable_x64", True)

# A tape has 4,096 pieces, of which each is copied.
_MOST_BYTES = 2**14


def exact(policy: Array, reference: Array) -> Array:
    """The divergence of each sequence, (batch,) of (batch, length) and (1,) of (length,)."""
    return jnp.sum(jnp.exp(policy) * (policy - reference), -1, keepdims=policy.ndim == 1)


def k3(policy: Array, reference: Array) -> Array:
    """The estimate of each."""
    difference = reference - policy
    return jnp.sum(jnp.expm1(difference) - difference, -1, keepdims=policy.ndim == 1)


def laid_out(array: NDArray[Any]) -> Any:
    """Log-probabilities (batch, length), and of one sequence (length,)."""
    array = token_kl.one_axis_of_one(array)
    return jax.device_put(array) if array.nbytes <= _MOST_BYTES else array


def prepare(parameters: token_kl.Parameters) -> token_kl.Call:
    """The call that is timed, compiled."""
    program: token_kl.Call = jax.jit(k3 if parameters.k3 else exact)
    kind = np.float32 if parameters.k3 else np.float64
    like = laid_out(np.zeros((parameters.batch, parameters.length), kind))
    program(like, like)
    return program


COURSE = token_kl.Course(prepare=prepare, laid_out=laid_out, gathered=JAX.gathered)


if __name__ == "__main__":
    token_kl.run(protocol.parser(__doc__).parse_args(), COURSE)
