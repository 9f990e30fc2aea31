"""What every implementation of `update` and `nn-step` shares: one gradient step after another, timed and compared.

The weights and a hundred minibatches are given. The referee decides which of them each update of a repetition takes,
and changes a reward of each. Acting, environment and replay buffer are left out. Arrays are NumPy's here, so that another
library imports no PyTorch.
"""

import argparse
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import load_file

from baselines.benchmarks import training
from baselines.benchmarks.library import Library
from baselines.contract import protocol
from baselines.contract.numbers import Numbers
from baselines.contract.operation import Operation, serve
from baselines.inputs.parity import UPDATES

# Arrays of the library that learns, by the names of the input file.
Given = Mapping[str, Any]

# The critics are SAC's, without its policy.
ALGORITHMS = ("dqn", "ppo", "sac", "critics")
_AFTER = "after."
# The tensors of an input file that hold something for each minibatch; the others are weights, and PPO's rollout.
OF_MINIBATCHES = frozenset(
    [
        *("observations", "next_observations", "actions", "rewards", "terminations"),
        *("log_probabilities", "values", "advantages", "returns"),
        *("noise.next", "noise.policy", "noise.alpha"),
    ]
)


def one_by_one(update: Callable[[int], object], minibatches: range) -> None:
    """Update from each minibatch in its turn."""
    for index in minibatches:
        update(index)


class Updates(NamedTuple):
    """Networks that learn.

    Attributes:
        update: the update from the `index`-th minibatch.
        parameters: their parameters by name.
        learn: makes all updates of a repetition, so that they are done when it returns.
    """

    update: Callable[[int], object]
    parameters: Callable[[], Mapping[str, Any]]
    learn: Callable[[Callable[[int], object], range], None] = one_by_one


class Way(NamedTuple):
    """How an algorithm's updates are made: networks as given, and what the gate compares, as a training writes it."""

    start: Callable[[Given], Updates]
    parity: Callable[[Given, int], Mapping[str, Any]]


@dataclass(frozen=True, kw_only=True)
class Parameters(protocol.Repetitions):
    """One case: whose update; `calls` of them are one repetition, and begin with fresh networks.

    The other parameters are sizes that a training does not have. The input file has them too.
    """

    algorithm: str
    hidden: int | None = None
    batch: int | None = None
    observation: int | None = None
    action: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.algorithm not in ALGORITHMS:
            raise ValueError(f"'algorithm' must be one of {', '.join(ALGORITHMS)}")
        if self.calls > UPDATES:
            raise ValueError(f"'calls' must be at most {UPDATES}: so many minibatches are given")


class Repetition(NamedTuple):
    """What a repetition works on: the numbers of its minibatches in their order, and fresh networks."""

    minibatches: range
    updates: Updates


def run(options: argparse.Namespace, ways: Mapping[str, Way], library: Library) -> None:
    """Serve every case by its algorithm's way: read its inputs, and update as the referee says.

    Args:
        options: of the command line.
        ways: of the algorithms that the library does.
        library: whose arrays they take and give.
    """

    def operation(
        request: protocol.Request, case: protocol.Case, parameters: Parameters
    ) -> Operation[Repetition, Updates]:
        given = protocol.input_file(request, case, "parity.safetensors", load_file)
        way = ways[parameters.algorithm]
        # What has to be compiled is compiled now.
        parity = library.arrays(way.parity(library.laid_out(given), parameters.calls))
        names = [name.removeprefix(_AFTER) for name in parity if name.startswith(_AFTER)]

        def begin(numbers: Numbers) -> Repetition:
            drawn = drawn_minibatches(given, numbers)
            return Repetition(minibatches(drawn), way.start(library.laid_out(drawn)))

        def learnt(updates: Updates) -> dict[str, NDArray[Any]]:
            found = library.arrays(updates.parameters())
            return {_AFTER + name: found[name] for name in names}

        def write(_: Repetition, updates: Updates, folder: Path) -> None:
            training.write(folder / "drawn.safetensors", learnt(updates))
            # In the file's own order, as a training writes them.
            training.write(folder / "update.safetensors", parity)

        return Operation(
            calls=parameters.calls,
            inputs=begin,
            run=learning,
            digested=lambda updates: list(learnt(updates).values()),
            write=write,
            counts={"updates": parameters.calls},
        )

    serve(options, Parameters, operation)


def learning(repetition: Repetition) -> Updates:
    """All updates of a repetition. This is what is timed."""
    updates = repetition.updates
    updates.learn(updates.update, repetition.minibatches)
    return updates


def minibatches(given: Given) -> range:
    """The indices of the minibatches."""
    return range(len(given["observations"]))


def drawn_minibatches(given: Mapping[str, NDArray[Any]], numbers: Numbers) -> dict[str, NDArray[Any]]:
    """One minibatch for each number: the low digits say which, the high bits change its first reward.

    Args:
        given: weights and minibatches.
        numbers: below 2**64. PPO has no rewards here: the first return changes.
    """
    order = (numbers % np.uint64(UPDATES)).astype(np.int64)
    drawn = {name: value[order] if name in OF_MINIBATCHES else value for name, value in given.items()}
    changes = (numbers >> np.uint64(44)).astype(np.float32) * np.float32(2.0**-20)
    drawn["rewards" if "rewards" in drawn else "returns"][:, 0] += changes
    return drawn
