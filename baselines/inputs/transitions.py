"""The tape of transitions that replay buffers are filled with: f32, a file a field."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from baselines.inputs.parameters import whole

# The steps of an episode, on average.
_EPISODE = 10

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


def write_sequences(parameters: Mapping[str, Any], seed: int, directory: Path) -> None:
    """Write as many transitions as the buffer holds, of episodes that have `episode` steps on average."""
    rows, episode = (whole(parameters, name, directory) for name in ("capacity", "episode"))
    _write(rows, parameters, seed, directory, episode)


def made(rows: int, width: int, seed: int, episode: int = _EPISODE) -> Fields:
    """Normal observations and actions. A reward is the number of its row, so it names the transition."""
    generator = np.random.default_rng(seed)
    draw, ended = generator.uniform(size=rows), 0.5 / episode
    return Fields(
        observations=generator.standard_normal((rows, width), np.float32),
        next_observations=generator.standard_normal((rows, width), np.float32),
        actions=generator.standard_normal((rows, 1), np.float32),
        rewards=np.arange(rows, dtype=np.float32),
        # An episode ends in one of the two ways.
        terminated=(draw < ended).astype(np.float32),
        truncated=(draw > 1 - ended).astype(np.float32),
    )


def _write(
    rows: int, parameters: Mapping[str, Any], seed: int, directory: Path, episode: int = _EPISODE
) -> None:
    fields = made(rows, whole(parameters, "observation", directory), seed, episode)
    for name, values in fields._asdict().items():
        np.save(directory / f"{name}.npy", values)
