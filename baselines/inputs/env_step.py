"""The actions that are taken in CartPole-v1."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from baselines.inputs.parameters import whole


def env_step_actions(*, calls: int, environments: int, seed: int) -> NDArray[np.float64]:
    """Actions 0 and 1, (calls, environments), as f64: `torchforge` reads no other .npy file."""
    return np.random.default_rng(seed).integers(0, 2, (calls, environments)).astype(np.float64)


def write(parameters: Mapping[str, Any], seed: int, directory: Path) -> None:
    """Write them to actions.npy."""
    sizes = {name: whole(parameters, name, directory) for name in ("calls", "environments")}
    np.save(directory / "actions.npy", env_step_actions(**sizes, seed=seed))
