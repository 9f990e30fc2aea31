"""What every implementation of `act` in PyTorch shares: the values of one observation after another, timed.

The network is DQN's and its weights are given. As the trainings act: an observation is a NumPy array, and one forward
pass gives its values.
"""

import argparse
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors.torch import load_file
from torch import Tensor

from baselines.benchmarks import training_in_pytorch
from baselines.contract import protocol
from baselines.contract.numbers import Numbers
from baselines.contract.operation import Operation, calling, serve

Given = Mapping[str, Tensor]
Observation = NDArray[np.float32]
# Values (1, actions) of an observation (1, n).
Forward = Callable[[Observation], Tensor]


@dataclass(frozen=True, kw_only=True)
class Parameters(protocol.Repetitions):
    """One case: whose observations; one repetition is `calls` of them."""

    environment: str


def run(options: argparse.Namespace, prepare: Callable[[Given], Forward]) -> None:
    """Serve every case: read its inputs, and act as the referee says."""
    torch.set_num_threads(protocol.threads())

    def operation(
        request: protocol.Request, case: protocol.Case, parameters: Parameters
    ) -> Operation[list[Observation], list[Tensor]]:
        given = protocol.input_file(request, case, "parity.safetensors", load_file)
        rows = given["observations"].flatten(0, 1)[: parameters.calls].numpy()
        forward = prepare(given)
        # What has to be compiled is compiled now.
        forward(rows[:1])
        return Operation(
            calls=parameters.calls,
            inputs=lambda numbers: observations(rows, numbers),
            run=calling(forward),
            digested=lambda values: [torch.cat(values).detach().numpy()],
            write=lambda _, values, folder: training_in_pytorch.write(
                folder / "values.safetensors", {"values": torch.cat(values)}
            ),
            counts={"observations": parameters.calls},
        )

    serve(options, Parameters, operation)


def observations(rows: Observation, numbers: Numbers) -> list[Observation]:
    """One for each call, (1, n): a row by a factor of the call's own, from a half to one, exact in f32."""
    factors = np.float32(0.5) + (numbers % np.uint64(2**20)).astype(np.float32) * np.float32(2.0**-21)
    scaled = rows * factors[:, None]
    return [scaled[index : index + 1] for index in range(len(scaled))]
