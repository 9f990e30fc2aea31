"""The tapes of rewards and of log-probabilities that post-training is computed from: f64."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from baselines.contract.tapes import longer
from baselines.inputs.parameters import whole

# Any value may be a call's first: groups are made of other rewards each time.
STRIDE = 1
# Log-probabilities are uniform from this to 0.
_LOWEST = -2.0


def write_grpo(parameters: Mapping[str, Any], seed: int, directory: Path) -> None:
    """Write a tape of normal rewards."""
    values = whole(parameters, "groups", directory) * whole(parameters, "size", directory)
    generator = np.random.default_rng(seed)
    np.save(directory / "rewards.npy", generator.standard_normal(values + longer(stride=STRIDE)))


def write_token_kl(parameters: Mapping[str, Any], seed: int, directory: Path) -> None:
    """Write a tape of the policy's and one of the reference's log-probabilities."""
    values = whole(parameters, "batch", directory) * whole(parameters, "length", directory)
    generator = np.random.default_rng(seed)
    for name in ("policy", "reference"):
        np.save(directory / f"{name}.npy", _LOWEST * generator.random(values + longer(stride=STRIDE)))
