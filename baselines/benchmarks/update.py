"""What every implementation of `update` in PyTorch shares: one gradient step after another, timed and compared.

The weights and the minibatches are given; acting, environment and replay buffer are left out.
"""

import argparse
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import count
from typing import NamedTuple

import torch
from safetensors.torch import load_file
from torch import Tensor

from baselines.benchmarks import training
from baselines.contract import protocol
from baselines.inputs.parity import UPDATES

Given = Mapping[str, Tensor]

ALGORITHMS = ("dqn", "ppo", "sac")


class Updates(NamedTuple):
    """Networks that learn: the update from the `index`-th minibatch, and their parameters by name."""

    update: Callable[[int], object]
    parameters: Callable[[], Mapping[str, Tensor]]


class Way(NamedTuple):
    """How an algorithm's updates are made: networks as given, and what the gate compares, as a training writes it."""

    start: Callable[[Given], Updates]
    parity: Callable[[Given, int], dict[str, Tensor]]


@dataclass(frozen=True, kw_only=True)
class Parameters(protocol.Repetitions):
    """One case: whose update; `calls` of them are one repetition, and begin with fresh networks."""

    algorithm: str

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.algorithm not in ALGORITHMS:
            raise ValueError(f"'algorithm' must be one of {', '.join(ALGORITHMS)}")
        if self.calls > UPDATES:
            raise ValueError(f"'calls' must be at most {UPDATES}: so many minibatches are given")


def run(options: argparse.Namespace, ways: Mapping[str, Way]) -> None:
    """Serve every case by its algorithm's way: read its inputs, time the updates, write the outputs."""
    torch.set_num_threads(protocol.threads())

    def serve(
        request: protocol.Request, case: protocol.Case, parameters: Parameters
    ) -> tuple[list[float], dict[str, int]]:
        given = protocol.input_file(request, case, "parity.safetensors", load_file)
        seconds, found = measure(ways[parameters.algorithm], given, parameters)
        if (directory := request.output_of(case)) is not None:
            training.write(directory / "update.safetensors", found)
        return seconds, {"updates": parameters.calls}

    protocol.serve(options, Parameters, serve)


def measure(way: Way, given: Given, parameters: Parameters) -> tuple[list[float], dict[str, Tensor]]:
    """Seconds an update, one figure a repetition, and what the gate compares.

    The parity updates come first: what has to be compiled is compiled then. The parameters after all updates are
    those that the last timed repetition left.
    """
    found = way.parity(given, parameters.calls)
    updates: list[Updates] = []

    def start() -> Callable[[], object]:
        updates[:] = [way.start(given)]
        update, indices = updates[0].update, count()
        return lambda: update(next(indices))

    seconds, _ = parameters.time_anew(start)
    after = {f"after.{name}": each.detach() for name, each in updates[0].parameters().items()}
    return seconds, found | {name: each for name, each in after.items() if name in found}
