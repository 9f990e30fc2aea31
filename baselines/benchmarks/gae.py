"""What every implementation of the benchmark `gae` shares: its parameters, its files and its course.

Generalised advantage estimation (Schulman et al., 2016, equation 16), f64, with dones[t] = step t ended:

    delta[t]      = rewards[t] + gamma * values[t+1] * (1 - dones[t]) - values[t]
    advantages[t] = delta[t] + gamma * lambda * (1 - dones[t]) * advantages[t+1]
    returns[t]    = advantages[t] + values[t]

where the value and the advantage after the last step are 0.
"""

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from baselines.contract import protocol
from baselines.inputs.gae import GaeArrays, gae_arrays

GAMMA = 0.99
LAMBDA = 0.95
LAST_VALUE = 0.0
# The data are the same whatever the process's seed, which orders the cases alone.
_DATA_SEED = 42

# Yields advantages and returns as arrays of the implementation's own: batch x length elements, the time last.
Call = Callable[[], tuple[Any, Any]]
# Lays the inputs out as the implementation likes them best, outside the clock.
Prepare = Callable[[GaeArrays], Call]


@dataclass(frozen=True, kw_only=True)
class Parameters(protocol.Repetitions):
    """One case and how often it is repeated."""

    batch: int
    length: int

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("batch", "length"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name!r} must be at least 1")


def run(options: argparse.Namespace, prepare: Prepare) -> None:
    """Serve every case: read or make its inputs, time the call, write the outputs, print the measurement."""

    def serve(
        request: protocol.Request, case: protocol.Case, parameters: Parameters
    ) -> tuple[list[float], dict[str, int]]:
        arrays = _inputs(request, case, parameters)
        seconds, outputs = parameters.time(prepare(arrays))
        advantages, returns = (_as_shape_of(arrays.rewards, output) for output in outputs)
        if (directory := request.output_of(case)) is not None:
            np.save(directory / "advantages.npy", advantages)
            np.save(directory / "returns.npy", returns)
        return seconds, {"elements": advantages.size}

    protocol.serve(options, Parameters, serve)


def _inputs(request: protocol.Request, case: protocol.Case, parameters: Parameters) -> GaeArrays:
    expected = (parameters.length,) if parameters.batch == 1 else (parameters.batch, parameters.length)
    if request.input_directory is None:
        return gae_arrays(batch=parameters.batch, length=parameters.length, seed=_DATA_SEED)
    folder = request.input_directory / case.name
    arrays = GaeArrays(
        *(protocol.input_file(request, case, f"{name}.npy", np.load) for name in GaeArrays._fields)
    )
    for name, array in arrays._asdict().items():
        if array.shape != expected or array.dtype != np.float64:
            protocol.refuse(
                f"{folder / name}.npy holds {array.dtype} {array.shape}, not float64 {expected}; "
                "make the inputs again with baselines.inputs"
            )
    return arrays


def _as_shape_of(like: NDArray[np.float64], output: Any) -> NDArray[np.float64]:
    """A NumPy array or CPU tensor in the inputs' shape; another precision than f64 is a defect."""
    array = np.asarray(output)
    if array.dtype != np.float64:
        raise TypeError(f"the implementation computed in {array.dtype}, not in float64")
    return np.ascontiguousarray(array.reshape(like.shape))
