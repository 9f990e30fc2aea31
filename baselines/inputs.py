"""Generators of the input files: started like an implementation, they write DIR/<case>/<file>.

    python3 -m baselines.inputs gae --case T=8 --parameters '{"batch":1,"length":8}' --seed 42 --output DIR

The same bytes on every machine: NumPy's PCG64 and its samplers alone, and file formats without a time stamp.
"""

from collections.abc import Callable, Mapping
from itertools import pairwise
from math import sqrt
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import save

from baselines import protocol

# The parity update of DQN: one minibatch for networks of these widths.
_DQN_WIDTHS = (4, 120, 84, 2)
_DQN_BATCH = 128
_DQN_TERMINATED_SHARE = 0.1


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
        dones=(generator.random(shape) > 0.95).astype(np.float64),  # noqa: PLR2004
    )


def dqn_arrays(seed: int) -> dict[str, NDArray[Any]]:
    """Weights of an online and a target network and one minibatch of transitions, drawn in the order written.

    Weights and biases are uniform within 1/sqrt(inputs of the layer), as PyTorch initialises a Linear layer.
    Names and shapes are those of a PyTorch Sequential whose layers 1 and 3 are ReLUs: `online.0.weight` is
    (120, 4). Everything is f32 but the actions, i64.
    """
    generator = np.random.default_rng(seed)
    arrays: dict[str, NDArray[Any]] = {}
    for network in ("online", "target"):
        for layer, (inputs, outputs) in enumerate(pairwise(_DQN_WIDTHS)):
            bound = 1.0 / sqrt(inputs)
            for name, shape in (("weight", (outputs, inputs)), ("bias", (outputs,))):
                arrays[f"{network}.{2 * layer}.{name}"] = generator.uniform(-bound, bound, shape).astype(
                    np.float32
                )
    for name in ("observations", "next_observations"):
        arrays[name] = generator.standard_normal((_DQN_BATCH, _DQN_WIDTHS[0])).astype(np.float32)
    arrays["actions"] = generator.integers(0, _DQN_WIDTHS[-1], _DQN_BATCH, dtype=np.int64)
    arrays["rewards"] = generator.standard_normal(_DQN_BATCH).astype(np.float32)
    arrays["terminations"] = (generator.random(_DQN_BATCH) < _DQN_TERMINATED_SHARE).astype(np.float32)
    return arrays


def _write_gae(parameters: Mapping[str, Any], seed: int, directory: Path) -> None:
    sizes = {name: parameters.get(name) for name in ("batch", "length")}
    for name, size in sizes.items():
        if not isinstance(size, int) or isinstance(size, bool) or size < 1:
            protocol.refuse(
                f"parameter {name!r} of case {directory.name} is {size!r}; give a whole number from 1"
            )
    for name, array in gae_arrays(**sizes, seed=seed)._asdict().items():  # type: ignore[arg-type]
        np.save(directory / f"{name}.npy", array)


def _write_dqn(_: Mapping[str, Any], seed: int, directory: Path) -> None:
    # Written as bytes: safetensors' own writer makes a file that only its owner can read.
    (directory / "parity.safetensors").write_bytes(save(dqn_arrays(seed)))


# A generator reads the parameters that its data depend on and lets the others be: it is handed the same
# object as an implementation, with or without the profile's part. DQN's minibatch depends on none.
_WRITERS: Mapping[str, Callable[[Mapping[str, Any], int, Path], None]] = {
    "gae": _write_gae,
    "dqn": _write_dqn,
}


def main() -> None:
    """Write the input files of every case named."""
    parser = protocol.parser(__doc__)
    parser.add_argument("benchmark", choices=_WRITERS, help="whose input files to make")
    options = parser.parse_args()
    request = protocol.request(options)
    if not request.cases or request.output_directory is None:
        protocol.refuse("--case and --output are needed; name a case and the directory to write to")
    for case in request.cases:
        directory = request.output_directory / case.name
        directory.mkdir(parents=True, exist_ok=True)
        _WRITERS[options.benchmark](case.parameters, request.seed, directory)


if __name__ == "__main__":
    main()
