"""Fast, exactly reproducible reinforcement learning, written in Rust."""

from typing import TypeAlias

import numpy
from numpy.typing import NDArray

__version__: str

_Float64Array: TypeAlias = NDArray[numpy.float64]

def compute_gae(
    rewards: _Float64Array,
    values: _Float64Array,
    dones: _Float64Array,
    last_value: float,
    gamma: float,
    lam: float,
    *,
    out: tuple[_Float64Array, _Float64Array] | None = None,
) -> tuple[_Float64Array, _Float64Array]:
    """Advantages and returns of one trajectory (Schulman et al., 2016).

    Args:
        rewards: the reward of each step, (length,).
        values: the estimated value of the state before each step, (length,).
        dones: 1 where the episode ended with this step, otherwise 0, (length,).
        last_value: the estimated value of the state after the last step.
        gamma: the discount of a step.
        lam: the weight of longer estimates.
        out: arrays to write the advantages and returns into, (length,) each.

    All arrays are float64 and C-contiguous, and none is copied. The bytes of the result are the same on every machine.

    Raises:
        ValueError: an array has another type, layout or shape, or `out` shares memory with another argument.
    """

def compute_gae_batched(
    rewards: _Float64Array,
    values: _Float64Array,
    dones: _Float64Array,
    last_values: _Float64Array,
    gamma: float,
    lam: float,
    *,
    out: tuple[_Float64Array, _Float64Array] | None = None,
) -> tuple[_Float64Array, _Float64Array]:
    """Advantages and returns of several trajectories: `compute_gae` for every row of (batch, length) arrays.

    `last_values` has shape (batch,); `out` holds arrays of shape (batch, length).
    """
