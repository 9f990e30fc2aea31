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


def write_single(parameters: Mapping[str, Any], _: int, directory: Path) -> None:
    """Write action 1 for every step."""
    _write_equal(1.0, ("calls", "environments"), parameters, directory)


def write_vector(parameters: Mapping[str, Any], _: int, directory: Path) -> None:
    """Write action 0 for every step."""
    _write_equal(0.0, ("calls", "environments"), parameters, directory)


def write_rollout(parameters: Mapping[str, Any], _: int, directory: Path) -> None:
    """Write action 0 for every step of a rollout."""
    _write_equal(0.0, ("steps", "environments"), parameters, directory)


def _write_equal(
    action: float, names: tuple[str, str], parameters: Mapping[str, Any], directory: Path
) -> None:
    shape = [whole(parameters, name, directory) for name in names]
    np.save(directory / "actions.npy", np.full(shape, action))
