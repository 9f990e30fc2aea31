"""The file of the parity updates, for each algorithm."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from numpy.typing import NDArray
from safetensors.numpy import save

from baselines.contract import protocol
from baselines.inputs.parameters import whole
from baselines.inputs.parity import DQN_SIZES, SAC_HIDDEN, dqn_arrays, ppo_arrays, sac_arrays

# No hidden layer is wider.
_WIDEST = 4096
# Where nothing learns: with a hundred times as many rows, enough for every call.
_ACTING_BATCH = 256


def write_dqn(parameters: Mapping[str, Any], seed: int, directory: Path) -> None:
    """Write DQN's, for the sizes of the environment."""
    environment = parameters.get("environment")
    if not isinstance(environment, str) or environment not in DQN_SIZES:
        protocol.refuse(
            f"parameter 'environment' of case {directory.name} is {environment!r}; "
            f"give one of {', '.join(DQN_SIZES)}"
        )
    _write_parity(dqn_arrays(environment, seed), directory)


def write_ppo(_: Mapping[str, Any], seed: int, directory: Path) -> None:
    """Write PPO's."""
    _write_parity(ppo_arrays(seed), directory)


def write_sac(parameters: Mapping[str, Any], seed: int, directory: Path) -> None:
    """Write SAC's, for networks as wide as the case's."""
    hidden = parameters.get("hidden", SAC_HIDDEN)
    if type(hidden) is not int or not 1 <= hidden <= _WIDEST:
        protocol.refuse(
            f"parameter 'hidden' of case {directory.name} is {hidden!r}; give a whole number from 1 to {_WIDEST}"
        )
    _write_parity(sac_arrays(seed, hidden), directory)


def write_update(parameters: Mapping[str, Any], seed: int, directory: Path) -> None:
    """Write those of the algorithm that the parameters name."""
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


def write_networks(parameters: Mapping[str, Any], seed: int, directory: Path) -> None:
    """Write those of networks whose sizes the case has: of `nn-step`, and of `nn-act`, which has no minibatch."""
    algorithm = parameters.get("algorithm")
    batch = whole(parameters, "batch", directory) if "batch" in parameters else _ACTING_BATCH
    if algorithm == "dqn":
        width = whole(parameters, "hidden", directory)
        arrays = dqn_arrays("CartPole-v1", seed, (width, width), batch)
    elif algorithm == "ppo":
        arrays = ppo_arrays(seed, batch)
    elif algorithm in ("sac", "critics"):
        hidden, observation, action = (
            whole(parameters, name, directory) for name in ("hidden", "observation", "action")
        )
        arrays = sac_arrays(seed, hidden, observation, action, batch)
    else:
        protocol.refuse(
            f"parameter 'algorithm' of case {directory.name} is {algorithm!r}; give dqn, ppo, sac or critics"
        )
    _write_parity(arrays, directory)


def _write_parity(arrays: Mapping[str, NDArray[Any]], directory: Path) -> None:
    # Written as bytes: safetensors' own writer makes a file that only its owner can read.
    (directory / "parity.safetensors").write_bytes(save(dict(arrays)))
