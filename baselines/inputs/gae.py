"""The arrays that generalised advantage estimation is computed from."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from baselines.inputs.parameters import whole

# The share of steps that do not end their episode.
_GOING_ON = 0.95


class GaeArrays(NamedTuple):
    """What GAE is computed from: f64, C order, (length,) for one trajectory, (batch, length) for several."""

    rewards: NDArray[np.float64]
    values: NDArray[np.float64]
    dones: NDArray[np.float64]
    """1 where step t ended the episode, else 0."""


def gae_arrays(*, batch: int, length: int, seed: int) -> GaeArrays:
    """Normal rewards and values, one step in twenty done: drawn in that order from a fresh generator."""
    generator = np.random.default_rng(seed)
    shape = (length,) if batch == 1 else (batch, length)
    return GaeArrays(
        rewards=generator.standard_normal(shape),
        values=generator.standard_normal(shape),
        dones=(generator.random(shape) > _GOING_ON).astype(np.float64),
    )


def write(parameters: Mapping[str, Any], seed: int, directory: Path) -> None:
    """Write a .npy file of each array."""
    sizes = {name: whole(parameters, name, directory) for name in ("batch", "length")}
    for name, array in gae_arrays(**sizes, seed=seed)._asdict().items():
        np.save(directory / f"{name}.npy", array)
