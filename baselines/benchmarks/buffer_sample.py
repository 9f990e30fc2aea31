"""What every implementation of `buffer-sample` and `draw-latency` shares: its parameters, its files and its course.

Minibatches are drawn from a ring that is full: observations, next observations, actions, rewards and whether the task
ended, all f32. The ring holds the tape, whose rewards are the numbers of its rows. The referee draws the seed of each
repetition; which rows follow from it is the implementation's own.

So what is compared is whether each drawn transition is one of the tape, in all its fields, and how large a share of all
draws each of sixteen equal parts of the ring has. To read all of them takes about as long as to draw them. So a digest
covers one call of several, and the referee decides which. The files of the five fields hold these calls.
"""

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from baselines.benchmarks import buffer_push, covered, draw_latency
from baselines.benchmarks.covered import Answered, Asked
from baselines.benchmarks.drawn_fields import joined
from baselines.contract import protocol
from baselines.contract.numbers import Numbers
from baselines.contract.operation import Operation, serve
from baselines.inputs.transitions import Fields

# Equal parts of the ring, whose shares of all draws show how they are distributed.
PARTS = 16


@dataclass(frozen=True, kw_only=True)
class Parameters(covered.Parameters):
    """One case: `calls` minibatches of `batch` transitions, from a ring of `capacity`.

    Where it is `clocked`, each draw is timed alone too: baselines/benchmarks/draw_latency.py.
    """

    capacity: int
    observation: int
    batch: int
    clocked: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        self.require_positive("capacity", "observation", "batch")


class Drawn(NamedTuple):
    """Transitions that were drawn, of one minibatch or of several in turn: arrays (n, ...)."""

    observations: Any
    next_observations: Any
    actions: Any
    rewards: Any
    terminated: Any


class Sampler(Protocol):
    """A full ring that minibatches are drawn from.

    Attributes:
        sample: draws a minibatch of a size, in any form. This is what is timed. The second argument is for a draw that
            has a seed of its own.
    """

    sample: Callable[[int, int], Any]

    def fill(self, fields: Fields) -> None:
        """Hold these transitions, which are as many as it has room for. Not timed."""

    def seed(self, number: int) -> None:
        """Begin the draws of a repetition. Not timed."""

    def gathered(self, batches: list[Any]) -> list[Drawn]:
        """Minibatches as NumPy arrays f32, each of its own or all as one. Not timed."""


# Makes what holds so many transitions of observations of so many values.
Make = Callable[[int, int], Sampler]


def run(options: argparse.Namespace, make: Make) -> None:
    """Serve every case: fill the ring, and draw as the referee says."""

    def operation(request: protocol.Request, case: protocol.Case, sizes: Parameters) -> Operation[Asked, Any]:
        tape = buffer_push.read_tape(request, case)
        sampler = make(sizes.capacity, sizes.observation)
        sampler.fill(tape)
        sample, batch = sampler.sample, sizes.batch

        def begin(numbers: Numbers) -> Asked:
            sampler.seed(int(numbers[0]))
            seeds: list[int] = (numbers >> np.uint64(1)).tolist()
            return Asked(seeds, sizes.covered(numbers))

        def write(_: Asked, draws: Answered, folder: Path) -> None:
            drawn = stacked(sampler.gathered(draws.calls), sizes)
            for name, values in drawn._asdict().items():
                np.save(folder / f"{name}.npy", values[draws.covered])
            members = membership(drawn, tape)
            np.save(folder / "members.npy", (members >= 0).sum(axis=1))
            np.save(folder / "shares.npy", shares(members[members >= 0], sizes))

        draws: Operation[Asked, Answered] = Operation(
            calls=sizes.calls,
            inputs=begin,
            run=lambda asked: Answered([sample(batch, seed) for seed in asked.calls], asked.covered),
            digested=lambda draws: [
                field for each in sampler.gathered(draws.calls[draws.covered]) for field in each
            ],
            write=write,
            counts={"transitions": batch},
        )
        return draw_latency.each_draw(draws, partial(sample, batch)) if sizes.clocked else draws

    serve(options, Parameters, operation)


def stacked(batches: Sequence[Drawn], sizes: Parameters) -> Drawn:
    """The minibatches of a repetition as one, the call as the first axis."""
    if any(len(batch.rewards) % sizes.batch for batch in batches):
        raise ValueError(
            f"minibatches have {[len(each.rewards) for each in batches]} rows, which are not whole {sizes.batch}"
        )
    observations, next_observations, actions, rewards, terminated = joined(batches)
    shape = (sizes.calls, sizes.batch)
    return Drawn(
        observations.reshape(*shape, -1),
        next_observations.reshape(*shape, -1),
        actions.reshape(*shape, 1),
        rewards.reshape(shape),
        terminated.reshape(shape),
    )


def membership(drawn: Drawn, tape: Fields) -> NDArray[np.int64]:
    """The row of the tape that each transition is, or -1 where it is none of them in all its fields."""
    rows: NDArray[np.int64] = np.clip(np.nan_to_num(drawn.rewards), 0, len(tape.rewards) - 1).astype(np.int64)
    same = np.ones(rows.shape, np.bool_)
    for field, of_tape in zip(drawn, tape[: len(drawn)], strict=True):
        equal = field == of_tape[rows]
        same &= equal.reshape(*rows.shape, -1).all(axis=-1)
    return np.where(same, rows, -1)


def shares(rows: NDArray[np.int64], sizes: Parameters) -> NDArray[np.float64]:
    """How large a share of all draws each part of the ring has."""
    counts = np.bincount(rows * PARTS // sizes.capacity, minlength=PARTS)
    return counts / (sizes.calls * sizes.batch)
