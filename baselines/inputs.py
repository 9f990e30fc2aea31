"""Generators of the input files: started like an implementation, they write DIR/<case>/<file>.

    python3 -m baselines.inputs gae --case T=8 --parameters '{"batch":1,"length":8}' --seed 42 --output DIR

The same bytes on every machine: NumPy's PCG64 and its samplers alone, and file formats without a time stamp.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import save

from baselines import protocol
from baselines.parity_inputs import DQN_SIZES, dqn_arrays, ppo_arrays, sac_arrays

# The share of steps that do not end their episode.
_GAE_GOING_ON = 0.95


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
        dones=(generator.random(shape) > _GAE_GOING_ON).astype(np.float64),
    )


def _write_gae(parameters: Mapping[str, Any], seed: int, directory: Path) -> None:
    sizes = {name: _whole(parameters, name, directory) for name in ("batch", "length")}
    for name, array in gae_arrays(**sizes, seed=seed)._asdict().items():
        np.save(directory / f"{name}.npy", array)


def env_step_actions(*, calls: int, environments: int, seed: int) -> NDArray[np.float64]:
    """Actions 0 and 1, (calls, environments), as f64: `torchforge` reads no other .npy file."""
    return np.random.default_rng(seed).integers(0, 2, (calls, environments)).astype(np.float64)


def _write_env_step(parameters: Mapping[str, Any], seed: int, directory: Path) -> None:
    sizes = {name: _whole(parameters, name, directory) for name in ("calls", "environments")}
    np.save(directory / "actions.npy", env_step_actions(**sizes, seed=seed))


def _write_dqn(parameters: Mapping[str, Any], seed: int, directory: Path) -> None:
    environment = parameters.get("environment")
    if not isinstance(environment, str) or environment not in DQN_SIZES:
        protocol.refuse(
            f"parameter 'environment' of case {directory.name} is {environment!r}; "
            f"give one of {', '.join(DQN_SIZES)}"
        )
    _write_parity(dqn_arrays(environment, seed), directory)


def _write_ppo(_: Mapping[str, Any], seed: int, directory: Path) -> None:
    _write_parity(ppo_arrays(seed), directory)


def _write_sac(_: Mapping[str, Any], seed: int, directory: Path) -> None:
    _write_parity(sac_arrays(seed), directory)


def _write_update(parameters: Mapping[str, Any], seed: int, directory: Path) -> None:
    arrays = {
        "dqn": lambda: dqn_arrays("CartPole-v1", seed),
        "ppo": lambda: ppo_arrays(seed),
        "sac": lambda: sac_arrays(seed),
    }
    algorithm = parameters.get("algorithm")
    if not isinstance(algorithm, str) or algorithm not in arrays:
        protocol.refuse(
            f"parameter 'algorithm' of case {directory.name} is {algorithm!r}; give one of {', '.join(arrays)}"
        )
    _write_parity(arrays[algorithm](), directory)


def _write_multiply(parameters: Mapping[str, Any], seed: int, directory: Path) -> None:
    _write_normal(parameters, seed, directory, {"left": 2, "right": 2})


def _write_copy(parameters: Mapping[str, Any], seed: int, directory: Path) -> None:
    _write_normal(parameters, seed, directory, {"values": 1})


def _write_normal(
    parameters: Mapping[str, Any], seed: int, directory: Path, dimensions: Mapping[str, int]
) -> None:
    """Files of normal numbers, f32, of `size` along each of so many dimensions."""
    size = _whole(parameters, "size", directory)
    generator = np.random.default_rng(seed)
    for name, count in dimensions.items():
        np.save(directory / f"{name}.npy", generator.standard_normal((size,) * count, dtype=np.float32))


def _whole(parameters: Mapping[str, Any], name: str, directory: Path) -> int:
    size = parameters.get(name)
    if not isinstance(size, int) or isinstance(size, bool) or size < 1:
        protocol.refuse(
            f"parameter {name!r} of case {directory.name} is {size!r}; give a whole number from 1"
        )
    return size


def _write_parity(arrays: Mapping[str, NDArray[Any]], directory: Path) -> None:
    # Written as bytes: safetensors' own writer makes a file that only its owner can read.
    (directory / "parity.safetensors").write_bytes(save(dict(arrays)))


# A generator reads the parameters that its data depend on and lets the others be: it is handed the same
# object as an implementation, with or without the profile's part.
_WRITERS: Mapping[str, Callable[[Mapping[str, Any], int, Path], None]] = {
    "gae": _write_gae,
    "env-step": _write_env_step,
    "dqn": _write_dqn,
    "ppo": _write_ppo,
    "sac": _write_sac,
    "update": _write_update,
    "act": _write_dqn,
    "multiply": _write_multiply,
    "copy": _write_copy,
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
        directory = protocol.made_directory(request.output_directory / case.name)
        _WRITERS[options.benchmark](case.parameters, request.seed, directory)


if __name__ == "__main__":
    main()
