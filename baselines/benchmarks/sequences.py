"""What every implementation of the benchmark `sequences` shares: its parameters, its files and its course.

A call draws sequences of consecutive steps out of a full ring, as agents with a memory learn from (Hausknecht and Stone,
2015). All is f32. The steps of a sequence are of one episode, whose end its last step may be. Each place where a whole
sequence begins is as probable as any other. The ring holds the tape, whose rewards are the numbers of its rows. The
referee draws the seed of each repetition.

To read all steps takes about as long as to draw them. So a digest covers one call of several, and the referee decides
which. The files of the five fields hold these calls.

What is compared is how many sequences of each call are whole and of the tape, in all their fields (`members.npy`), and
how often they begin in each part of the ring (`shares.npy`).
"""

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from baselines.benchmarks import buffer_push, buffer_sample, covered
from baselines.benchmarks.buffer_sample import PARTS, Drawn
from baselines.benchmarks.covered import Answered, Asked
from baselines.benchmarks.drawn_fields import joined
from baselines.contract import protocol
from baselines.contract.numbers import Numbers
from baselines.contract.operation import Operation, serve
from baselines.inputs.transitions import Fields

Rows = NDArray[np.int64]


@dataclass(frozen=True, kw_only=True)
class Parameters(covered.Parameters):
    """One case: `calls` draws of `sequences` sequences of `length` steps, from a ring of `capacity`.

    An episode has `episode` steps on average.
    """

    capacity: int
    observation: int
    sequences: int
    length: int
    episode: int

    def __post_init__(self) -> None:
        super().__post_init__()
        self.require_positive("capacity", "observation", "sequences", "length", "episode")
        if self.length > self.capacity:
            raise ValueError("'length' must not be above 'capacity': no sequence would fit")

    @property
    def transitions(self) -> int:
        """How many a call draws."""
        return self.sequences * self.length


class Sampler(Protocol):
    """A full ring that sequences are drawn from."""

    def fill(self, fields: Fields) -> None:
        """Hold these transitions, which are as many as it has room for. Not timed."""

    def seed(self, number: int) -> None:
        """Begin the draws of a repetition. Not timed."""

    def sample(self, transitions: int, seed: int, /) -> Any:
        """Draw so many transitions, in any form: the steps of sequences, one after another. This is what is timed.

        The seed is for a draw that has one of its own.
        """

    def gathered(self, draws: list[Any], /) -> list[Drawn]:
        """Draws as NumPy arrays f32, each of its own or all as one. Not timed."""


# Makes the ring of a case.
Make = Callable[[Parameters], Sampler]


def run(options: argparse.Namespace, make: Make) -> None:
    """Serve every case: fill the ring, and draw as the referee says."""

    def operation(
        request: protocol.Request, case: protocol.Case, sizes: Parameters
    ) -> Operation[Asked, Answered]:
        tape = buffer_push.read_tape(request, case)
        sampler = make(sizes)
        sampler.fill(tape)
        return course(sampler, tape, sizes)

    serve(options, Parameters, operation)


def course(sampler: Sampler, tape: Fields, sizes: Parameters) -> Operation[Asked, Answered]:
    """The draws of a case."""
    sample, transitions = sampler.sample, sizes.transitions

    def begin(numbers: Numbers) -> Asked:
        sampler.seed(int(numbers[0]))
        seeds: list[int] = (numbers >> np.uint64(1)).tolist()
        return Asked(seeds, sizes.covered(numbers))

    def write(_: Asked, draws: Answered, folder: Path) -> None:
        drawn = stacked(sampler.gathered(draws.calls), sizes)
        for name, values in drawn._asdict().items():
            np.save(folder / f"{name}.npy", values[draws.covered])
        begun = first_rows(drawn, tape, sizes)
        np.save(folder / "members.npy", (begun >= 0).sum(axis=1))
        np.save(folder / "shares.npy", shares(begun[begun >= 0], tape, sizes))

    return Operation(
        calls=sizes.calls,
        inputs=begin,
        run=lambda asked: Answered([sample(transitions, seed) for seed in asked.calls], asked.covered),
        digested=lambda draws: [
            field for each in sampler.gathered(draws.calls[draws.covered]) for field in each
        ],
        write=write,
        counts={"transitions": transitions},
    )


def starts(fields: Fields, length: int) -> Rows:
    """The rows that a whole sequence begins with, for a ring whose row 0 is its oldest."""
    ended = (fields.terminated > 0) | (fields.truncated > 0)
    # How many ends are before each row: none may be between a sequence's first row and its last one.
    before = np.concatenate([[0], np.cumsum(ended)])
    first = np.arange(len(ended) - length + 1)
    found: Rows = first[before[first] == before[first + length - 1]]
    return found


def stacked(draws: Sequence[Drawn], sizes: Parameters) -> Drawn:
    """The sequences of a repetition as one, the call as the first axis, the sequence and its steps as the next two."""
    observations, next_observations, actions, *numbers = joined(draws)
    shape = (sizes.calls, sizes.sequences, sizes.length)
    return Drawn(
        observations.reshape(*shape, -1),
        next_observations.reshape(*shape, -1),
        actions.reshape(*shape, 1),
        *(each.reshape(shape) for each in numbers),
    )


def first_rows(drawn: Drawn, tape: Fields, sizes: Parameters) -> Rows:
    """The row that each sequence begins with, or -1 where it is none of the tape's whole sequences."""
    rows = buffer_sample.membership(drawn, tape)
    first = rows[..., 0]
    whole = (rows == first[..., None] + np.arange(sizes.length)).all(axis=-1)
    whole &= (first >= 0) & np.isin(first, starts(tape, sizes.length))
    return np.where(whole, first, -1)


def shares(first: Rows, tape: Fields, sizes: Parameters) -> NDArray[np.float64]:
    """How many sequences begin in each part of all such rows beyond its share, in deviations of chance."""
    possible, drawn = starts(tape, sizes.length), sizes.calls * sizes.sequences
    found = []
    for part in np.array_split(possible, PARTS):
        share = len(part) / len(possible)
        begun = np.isin(first, part).sum()
        found.append((begun - drawn * share) / np.sqrt(drawn * share * (1 - share)))
    return np.array(found)
