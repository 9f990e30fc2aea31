"""What calls that do no work are given: whole numbers in a drawn order, and tapes of normal numbers, f64."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from baselines.contract.tapes import longer
from baselines.inputs.parameters import whole

# No call takes more arrays.
_TAPES = 5


def write(parameters: Mapping[str, Any], seed: int, directory: Path) -> None:
    """Write whole numbers below `size` for `calls` calls from any place on, and tapes of twice `size` values."""
    calls, size = (whole(parameters, name, directory) for name in ("calls", "size"))
    generator = np.random.default_rng(seed)
    np.save(directory / "order.npy", generator.integers(0, size, calls + longer(stride=1)))
    np.save(directory / "values.npy", generator.standard_normal((_TAPES, 2 * size)))
