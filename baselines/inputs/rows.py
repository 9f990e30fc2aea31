"""The tape that the rows of a dataset are made of: bytes, a row a row."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from baselines.inputs.parameters import whole

# So few that the file is small. No two rows of a dataset are equal, because each begins with its number.
TAPE_ROWS = 64

Rows = NDArray[np.uint8]


def write(parameters: Mapping[str, Any], seed: int, directory: Path) -> None:
    """Write random bytes."""
    np.save(directory / "tape.npy", made(whole(parameters, "row_bytes", directory), seed))


def made(row_bytes: int, seed: int) -> Rows:
    """Random bytes, (TAPE_ROWS, row_bytes)."""
    return np.random.default_rng(seed).integers(256, size=(TAPE_ROWS, row_bytes), dtype=np.uint8)
