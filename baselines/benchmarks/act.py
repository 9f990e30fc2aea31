"""What every implementation of `act` in Python shares: the values of one observation after another, timed.

The network is DQN's and its weights are given. As the trainings act: an observation is a NumPy array, and one forward
pass gives its values.
"""

import argparse
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import load_file

from baselines.benchmarks import training
from baselines.benchmarks.library import Library
from baselines.contract import protocol
from baselines.contract.numbers import Numbers
from baselines.contract.operation import Operation, calling, serve

# Arrays of the library that acts, by the names of the input file.
Given = Mapping[str, Any]
Observation = NDArray[np.float32]
# Values (1, actions) of an observation (1, n), in an array of the library.
Forward = Callable[[Observation], Any]


@dataclass(frozen=True, kw_only=True)
class Parameters(protocol.Repetitions):
    """One case: whose observations; one repetition is `calls` of them."""

    environment: str


def run(options: argparse.Namespace, prepare: Callable[[Given], Forward], library: Library) -> None:
    """Serve every case: read its inputs, and act as the referee says.

    Args:
        options: of the command line.
        prepare: makes the forward pass that is timed, of the input file's arrays in the library.
        library: whose arrays it takes and gives.
    """

    def operation(
        request: protocol.Request, case: protocol.Case, parameters: Parameters
    ) -> Operation[list[Observation], list[Any]]:
        given = protocol.input_file(request, case, "parity.safetensors", load_file)
        observed = given["observations"]
        rows = observed.reshape(-1, observed.shape[-1])[: parameters.calls]
        forward = prepare(library.laid_out(given))
        # What has to be compiled is compiled now.
        forward(rows[:1])
        return Operation(
            calls=parameters.calls,
            inputs=lambda numbers: observations(rows, numbers),
            run=calling(forward),
            digested=lambda values: [library.gathered(values)],
            write=lambda _, values, folder: training.write(
                folder / "values.safetensors", {"values": library.gathered(values)}
            ),
            counts={"observations": parameters.calls},
        )

    serve(options, Parameters, operation)


def observations(rows: Observation, numbers: Numbers) -> list[Observation]:
    """One for each call, (1, n): a row by a factor of the call's own, from a half to one, exact in f32."""
    factors = np.float32(0.5) + (numbers % np.uint64(2**20)).astype(np.float32) * np.float32(2.0**-21)
    scaled = rows * factors[:, None]
    return [scaled[index : index + 1] for index in range(len(scaled))]
