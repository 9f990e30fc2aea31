"""The tapes of the matrices that are multiplied, and of the memory that is copied: normal numbers, f32."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from baselines.contract.tapes import longer
from baselines.inputs.parameters import whole

# Two places where a call may begin lie so many values apart.
_STRIDE = 16


def write_multiply(parameters: Mapping[str, Any], seed: int, directory: Path) -> None:
    """Write two tapes for matrices of `size` rows and columns."""
    _write_normal(seed, directory, ("left", "right"), whole(parameters, "size", directory) ** 2)


def write_copy(parameters: Mapping[str, Any], seed: int, directory: Path) -> None:
    """Write a tape for `size` values."""
    _write_normal(seed, directory, ("values",), whole(parameters, "size", directory))


def _write_normal(seed: int, directory: Path, names: Sequence[str], values: int) -> None:
    """Tapes of normal numbers, f32, for so many values from any place on."""
    generator = np.random.default_rng(seed)
    for name in names:
        np.save(
            directory / f"{name}.npy",
            generator.standard_normal(values + longer(stride=_STRIDE), dtype=np.float32),
        )
