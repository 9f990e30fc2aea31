"""The tape of transitions that replay buffers are filled with: f32, a file a field."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from baselines.inputs.parameters import whole

_ENDED = 0.05

Values = NDArray[np.float32]


class Fields(NamedTuple):
    """Transitions, row by row: observations (n, width), actions (n, 1), all else (n,). Flags are 0 or 1."""

    observations: Values
    next_observations: Values
    actions: Values
    rewards: Values
    terminated: Values
    truncated: Values


def write_push(parameters: Mapping[str, Any], seed: int, directory: Path) -> None:
    """Write `rows` transitions."""
    _write(whole(parameters, "rows", directory), parameters, seed, directory)


def write_sample(parameters: Mapping[str, Any], seed: int, directory: Path) -> None:
    """Write as many transitions as the buffer holds."""
    _write(whole(parameters, "capacity", directory), parameters, seed, directory)


def made(rows: int, width: int, seed: int) -> Fields:
    """Normal observations and actions. A reward is the number of its row, so it names the transition."""
    generator = np.random.default_rng(seed)
    draw = generator.uniform(size=rows)
    return Fields(
        observations=generator.standard_normal((rows, width), np.float32),
        next_observations=generator.standard_normal((rows, width), np.float32),
        actions=generator.standard_normal((rows, 1), np.float32),
        rewards=np.arange(rows, dtype=np.float32),
        # An episode ends in one of the two ways.
        terminated=(draw < _ENDED).astype(np.float32),
        truncated=(draw > 1 - _ENDED).astype(np.float32),
    )


def _write(rows: int, parameters: Mapping[str, Any], seed: int, directory: Path) -> None:
    fields = made(rows, whole(parameters, "observation", directory), seed)
    for name, values in fields._asdict().items():
        np.save(directory / f"{name}.npy", values)
