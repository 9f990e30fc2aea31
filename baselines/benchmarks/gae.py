"""What every implementation of the benchmark `gae` shares: its parameters, its files and its course.

Generalised advantage estimation (Schulman et al., 2016, equation 16), f64, with dones[t] = step t ended:

    delta[t]      = rewards[t] + gamma * values[t+1] * (1 - dones[t]) - values[t]
    advantages[t] = delta[t] + gamma * lambda * (1 - dones[t]) * advantages[t+1]
    returns[t]    = advantages[t] + values[t]

where the value and the advantage after the last step are 0. Each call has a gamma of its own, at most 0.001 below
0.99, which the referee draws: it changes every element, so that no earlier answer helps.

To read the arrays of many short calls takes longer than to compute them. So digest and files cover one call of several,
and the referee decides which.
"""

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from baselines.benchmarks import covered
from baselines.benchmarks.covered import Answered, Asked
from baselines.contract import protocol
from baselines.contract.numbers import Numbers
from baselines.contract.operation import Operation, calling, save, serve
from baselines.inputs.gae import GaeArrays, gae_arrays

GAMMA = 0.99
# A call's gamma is GAMMA less a whole multiple of this, of fewer than 2**20 of them.
GAMMA_STEP = 2.0**-30
LAMBDA = 0.95
LAST_VALUE = 0.0
# The data are the same whatever the process's seed, which orders the cases alone.
_DATA_SEED = 42
# Arrays below this size are copied into one before they are summed.
_SHORT_BYTES = 2**15

# From a gamma to advantages and returns, arrays of the implementation's own: batch x length elements, the time last.
Outputs = tuple[Any, Any]
Call = Callable[[float], Outputs]
# Lays the inputs out as the implementation likes them best, outside the clock.
Prepare = Callable[[GaeArrays], Call]


@dataclass(frozen=True, kw_only=True)
class Parameters(covered.Parameters):
    """One case and how often it is repeated."""

    batch: int
    length: int

    def __post_init__(self) -> None:
        super().__post_init__()
        self.require_positive("batch", "length")


def run(options: argparse.Namespace, prepare: Prepare) -> None:
    """Serve every case: read or make its inputs, and call the implementation as the referee says."""

    def operation(
        request: protocol.Request, case: protocol.Case, parameters: Parameters
    ) -> Operation[Asked, Answered]:
        return course(parameters, _inputs(request, case, parameters), prepare)

    serve(options, Parameters, operation)


def course(parameters: Parameters, arrays: GaeArrays, prepare: Prepare) -> Operation[Asked, Answered]:
    """A case whose inputs are these arrays."""
    like = arrays.rewards
    compute_all = calling(prepare(arrays))
    # Memory that is kept: what is given back to the system after each repetition costs more than the work.
    room = np.empty(2 * parameters.calls * like.size if like.nbytes < _SHORT_BYTES else 0)

    def write(_: Asked, answered: Answered, folder: Path) -> None:
        outputs = answered.calls[answered.covered]
        for index, file in enumerate(("advantages.npy", "returns.npy")):
            save(folder, file, [_as_shape_of(like, each[index]) for each in outputs])

    return Operation(
        calls=parameters.calls,
        inputs=lambda numbers: Asked(gammas(numbers), parameters.covered(numbers)),
        run=lambda asked: Answered(compute_all(asked.calls), asked.covered),
        digested=lambda answered: _digested(like, answered.calls[answered.covered], room),
        write=write,
        counts={"elements": like.size},
    )


def gammas(numbers: Numbers) -> list[float]:
    """The discount factor of each call, from its number: exact in f64, the same in every language."""
    steps: list[float] = (GAMMA - (numbers % np.uint64(2**20)).astype(np.float64) * GAMMA_STEP).tolist()
    return steps


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


def _digested(
    like: NDArray[np.float64], outputs: Sequence[Outputs], room: NDArray[np.float64]
) -> list[NDArray[np.float64]]:
    """The arrays of these calls, in one where that is faster: of short calls a check of each would take longer than all.

    The digest is a sum, so neither order nor shape counts.
    """
    if not room.size:
        return [_as_shape_of(like, array) for each in outputs for array in each]
    # Another precision than f64 is an error here too.
    room = room[: 2 * len(outputs) * like.size]
    return [np.concatenate([*chain.from_iterable(outputs)], axis=None, out=room, casting="no")]


def _as_shape_of(like: NDArray[np.float64], output: Any) -> NDArray[np.float64]:
    """A NumPy array or CPU tensor in the inputs' shape; another precision than f64 is a defect."""
    if type(output) is np.ndarray and output.dtype == np.float64 and output.shape == like.shape:
        return output
    array = np.asarray(output)
    if array.dtype != np.float64:
        raise TypeError(f"the implementation computed in {array.dtype}, not in float64")
    return np.ascontiguousarray(array.reshape(like.shape))
