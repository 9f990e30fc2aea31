"""The matrices that are multiplied, and the memory that is copied: normal numbers, f32."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from baselines.inputs.parameters import whole


def write_multiply(parameters: Mapping[str, Any], seed: int, directory: Path) -> None:
    """Write two matrices of `size` rows and columns."""
    _write_normal(parameters, seed, directory, {"left": 2, "right": 2})


def write_copy(parameters: Mapping[str, Any], seed: int, directory: Path) -> None:
    """Write `size` values."""
    _write_normal(parameters, seed, directory, {"values": 1})


def _write_normal(
    parameters: Mapping[str, Any], seed: int, directory: Path, dimensions: Mapping[str, int]
) -> None:
    """Files of normal numbers, f32, of `size` along each of so many dimensions."""
    size = whole(parameters, "size", directory)
    generator = np.random.default_rng(seed)
    for name, count in dimensions.items():
        np.save(directory / f"{name}.npy", generator.standard_normal((size,) * count, dtype=np.float32))
