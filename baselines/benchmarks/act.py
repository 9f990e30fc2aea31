"""What every implementation of `act` in PyTorch shares: the values of one observation after another, timed.

The network is DQN's and its weights are given. As the trainings act: an observation is a NumPy array, and one forward
pass gives its values.
"""

import argparse
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from numpy.typing import NDArray
from safetensors.torch import load_file
from torch import Tensor

from baselines.benchmarks import training
from baselines.contract import protocol

Given = Mapping[str, Tensor]
# Values (1, actions) of an observation (1, n).
Forward = Callable[[NDArray[Any]], Tensor]


@dataclass(frozen=True, kw_only=True)
class Parameters(protocol.Repetitions):
    """One case: whose observations; one repetition is `calls` of them."""

    environment: str


def run(options: argparse.Namespace, prepare: Callable[[Given], Forward]) -> None:
    """Serve every case: read its inputs, time the forward passes, write the outputs, print the measurement."""
    torch.set_num_threads(protocol.threads())

    def serve(
        request: protocol.Request, case: protocol.Case, parameters: Parameters
    ) -> tuple[list[float], dict[str, int]]:
        given = protocol.input_file(request, case, "parity.safetensors", load_file)
        seconds, values = measure(prepare(given), given, parameters)
        if (directory := request.output_of(case)) is not None:
            training.write(directory / "values.safetensors", {"values": values})
        return seconds, {"observations": len(values)}

    protocol.serve(options, Parameters, serve)


def measure(forward: Forward, given: Given, parameters: Parameters) -> tuple[list[float], Tensor]:
    """Seconds an observation, one figure a repetition, and the values (calls, actions) of the last repetition."""
    rows = given["observations"].flatten(0, 1)[: parameters.calls].numpy()
    observations = [rows[index : index + 1] for index in range(len(rows))]
    values: list[Tensor] = []

    def start() -> Callable[[], object]:
        values.clear()
        remaining = iter(observations)
        return lambda: values.append(forward(next(remaining)))

    seconds, _ = parameters.time_anew(start)
    return seconds, torch.cat(values).detach()
