"""What every implementation of `update` in PyTorch shares: one gradient step after another, timed and compared.

The weights and a hundred minibatches are given. The referee decides which of them each update of a repetition takes,
and changes a reward of each. Acting, environment and replay buffer are left out.
"""

import argparse
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from safetensors.torch import load_file
from torch import Tensor

from baselines.benchmarks import training_in_pytorch
from baselines.contract import protocol
from baselines.contract.numbers import Numbers
from baselines.contract.operation import Operation, serve
from baselines.inputs.parity import UPDATES

Given = Mapping[str, Tensor]

ALGORITHMS = ("dqn", "ppo", "sac")
_AFTER = "after."
# The tensors of an input file that hold something for each minibatch; the others are weights, and PPO's rollout.
_OF_MINIBATCHES = frozenset(
    [
        *("observations", "next_observations", "actions", "rewards", "terminations"),
        *("log_probabilities", "values", "advantages", "returns"),
        *("noise.next", "noise.policy", "noise.alpha"),
    ]
)


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


class Repetition(NamedTuple):
    """What a repetition works on: its minibatches in their order, and fresh networks."""

    given: Given
    updates: Updates


def run(options: argparse.Namespace, ways: Mapping[str, Way]) -> None:
    """Serve every case by its algorithm's way: read its inputs, and update as the referee says."""
    torch.set_num_threads(protocol.threads())

    def operation(
        request: protocol.Request, case: protocol.Case, parameters: Parameters
    ) -> Operation[Repetition, Updates]:
        given = protocol.input_file(request, case, "parity.safetensors", load_file)
        way = ways[parameters.algorithm]
        # What has to be compiled is compiled now.
        parity = way.parity(given, parameters.calls)
        names = [name.removeprefix(_AFTER) for name in parity if name.startswith(_AFTER)]

        def begin(numbers: Numbers) -> Repetition:
            drawn = drawn_minibatches(given, numbers)
            return Repetition(drawn, way.start(drawn))

        def learnt(updates: Updates) -> dict[str, Tensor]:
            found = updates.parameters()
            return {_AFTER + name: found[name].detach() for name in names}

        def write(_: Repetition, updates: Updates, folder: Path) -> None:
            training_in_pytorch.write(folder / "drawn.safetensors", learnt(updates))
            # In the file's own order, as a training writes them.
            training_in_pytorch.write(folder / "update.safetensors", parity)

        return Operation(
            calls=parameters.calls,
            inputs=begin,
            run=learning,
            digested=lambda updates: [value.numpy() for value in learnt(updates).values()],
            write=write,
            counts={"updates": parameters.calls},
        )

    serve(options, Parameters, operation)


def learning(repetition: Repetition) -> Updates:
    """All updates of a repetition. This is what is timed."""
    update = repetition.updates.update
    for index in minibatches(repetition.given):
        update(index)
    return repetition.updates


def minibatches(given: Given) -> range:
    """The indices of the minibatches."""
    return range(len(given["observations"]))


def drawn_minibatches(given: Given, numbers: Numbers) -> dict[str, Tensor]:
    """One minibatch for each number: the low digits say which, the high bits change its first reward.

    Args:
        given: weights and minibatches.
        numbers: below 2**64. PPO has no rewards here: the first return changes.
    """
    order = torch.from_numpy((numbers % np.uint64(UPDATES)).astype(np.int64))
    drawn = {name: value[order] if name in _OF_MINIBATCHES else value for name, value in given.items()}
    changes = (numbers >> np.uint64(44)).astype(np.float32) * np.float32(2.0**-20)
    drawn["rewards" if "rewards" in drawn else "returns"][:, 0] += torch.from_numpy(changes)
    return drawn
