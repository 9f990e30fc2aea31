"""What every implementation of the benchmark `replay` shares: its parameters, its files and its course.

A call draws one minibatch out of a full ring of transitions, all f32. There are two kinds of case. Where draws are
prioritised (Schaul et al., 2016, proportional), each transition comes with its importance weight. The call then gives the
drawn transitions their new priorities. Otherwise draws are uniform, and a transition spans several steps: its reward is
the discounted return, and its next observation and flag are those of its last step. It comes with its discount.

The temporal-difference error of a transition is its action, so no network is timed. Priorities are written at each call
and stay the same, so a repetition computed again draws the same rows. The referee draws the seed of each repetition.

What is compared is whether each drawn transition is one of the tape (`members.npy`), how far returns, weights and
discounts are from those of the plain formulas below (`differences.npy`), and how often parts of the ring are drawn
(`shares.npy`).
"""

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from baselines.benchmarks import buffer_push
from baselines.benchmarks.drawn_fields import joined
from baselines.contract import protocol
from baselines.contract.numbers import Numbers
from baselines.contract.operation import Operation, serve
from baselines.inputs.transitions import Fields

# The exponents of priorities and of weights, what is added to each error, and the discount of a step.
ALPHA, BETA, EPSILON, GAMMA = 0.6, 0.4, 1e-6, 0.99
# Parts of the ring with as many rows each, once in the order of memory and once in that of priorities.
PARTS = 16
_KEY_VALUES = 2


@dataclass(frozen=True, kw_only=True)
class Parameters(protocol.Repetitions):
    """One case: `calls` minibatches of `batch` transitions over `steps` steps, from a ring of `capacity`."""

    capacity: int
    observation: int
    batch: int
    prioritised: bool
    steps: int

    def __post_init__(self) -> None:
        super().__post_init__()
        self.require_positive("capacity", "observation", "batch", "steps")
        if self.observation < _KEY_VALUES:
            raise ValueError(
                f"'observation' must be at least {_KEY_VALUES}: rows are told apart by these values"
            )
        if self.prioritised != (self.steps == 1):
            raise ValueError("'steps' must be 1 where draws are 'prioritised', and more where not")


class Drawn(NamedTuple):
    """Transitions that were drawn, of one minibatch or of several in turn: arrays (n, ...).

    Factors are weights where draws are prioritised, else discounts.
    """

    observations: Any
    next_observations: Any
    actions: Any
    rewards: Any
    terminated: Any
    factors: Any


class Sampler(Protocol):
    """A full ring that minibatches are drawn from."""

    @property
    def call(self) -> Callable[[int, int], Any]:
        """Draws a minibatch of a size, in any form, and updates its priorities where draws are prioritised.

        This is what is timed. The second argument is for a draw that has a seed of its own.
        """

    def fill(self, fields: Fields) -> None:
        """Hold these transitions, which are as many as it has room for, with their priorities. Not timed."""

    def seed(self, number: int) -> None:
        """Begin the draws of a repetition. Not timed."""

    def gathered(self, batches: list[Any]) -> list[Drawn]:
        """Minibatches as NumPy arrays f32, each of its own or all as one. Not timed."""


# Makes the ring of a case.
Make = Callable[[Parameters], Sampler]


def run(options: argparse.Namespace, make: Make) -> None:
    """Serve every case: fill the ring, and draw as the referee says."""

    def operation(
        request: protocol.Request, case: protocol.Case, sizes: Parameters
    ) -> Operation[Sequence[int], list[Any]]:
        tape = buffer_push.read_tape(request, case)
        sampler = make(sizes)
        sampler.fill(tape)
        return course(sampler, tape, sizes)

    serve(options, Parameters, operation)


def course(sampler: Sampler, tape: Fields, sizes: Parameters) -> Operation[Sequence[int], list[Any]]:
    """The draws of a case."""
    call, batch, plain = sampler.call, sizes.batch, Plain(tape, sizes)

    def begin(numbers: Numbers) -> Sequence[int]:
        sampler.seed(int(numbers[0]))
        seeds: list[int] = (numbers >> np.uint64(1)).tolist()
        return seeds

    def write(_: Sequence[int], batches: list[Any], folder: Path) -> None:
        drawn = stacked(sampler.gathered(batches), sizes)
        for name, values in drawn._asdict().items():
            np.save(folder / f"{name}.npy", values)
        rows = plain.rows(drawn)
        np.save(folder / "members.npy", (rows >= 0).sum(axis=1))
        np.save(folder / "differences.npy", plain.differences(drawn, rows))
        np.save(folder / "shares.npy", plain.shares(rows[rows >= 0]))

    return Operation(
        calls=sizes.calls,
        inputs=begin,
        run=lambda seeds: [call(batch, seed) for seed in seeds],
        digested=lambda batches: [field for each in sampler.gathered(batches) for field in each],
        write=write,
        counts={"transitions": batch},
    )


def stacked(batches: Sequence[Drawn], sizes: Parameters) -> Drawn:
    """The minibatches of a repetition as one, the call as the first axis."""
    observations, next_observations, actions, *numbers = joined(batches)
    shape = (sizes.calls, sizes.batch)
    return Drawn(
        observations.reshape(*shape, -1),
        next_observations.reshape(*shape, -1),
        actions.reshape(*shape, 1),
        *(each.reshape(shape) for each in numbers),
    )


class Windows(NamedTuple):
    """What a draw of each row of the ring holds: its last step, and return and discount in double precision."""

    last: NDArray[np.int64]
    returns: NDArray[np.float64]
    discounts: NDArray[np.float64]


class Plain:
    """The formulas in plain NumPy and Python, for a ring whose row 0 is its oldest."""

    def __init__(self, tape: Fields, sizes: Parameters) -> None:
        self._tape, self._sizes = tape, sizes

    @cached_property
    def priorities(self) -> NDArray[np.float64]:
        """Of each row; 1 where draws are uniform."""
        if not self._sizes.prioritised:
            return np.ones(self._sizes.capacity)
        return priorities(self._tape.actions[:, 0])

    @cached_property
    def windows(self) -> Windows:
        """Of each row."""
        found = [self._window(row) for row in range(self._sizes.capacity)]
        last, returns, discounts = zip(*found, strict=True)
        return Windows(np.array(last), np.array(returns), np.array(discounts))

    def rows(self, drawn: Drawn) -> NDArray[np.int64]:
        """The row that each transition is, or -1 where it is none of them in its observations, action and flag."""
        keys = _keys(self._tape.observations)
        order = np.argsort(keys)
        rows = order[np.searchsorted(keys, _keys(drawn.observations), sorter=order).clip(max=len(keys) - 1)]
        last = self.windows.last[rows]
        pairs = [
            (drawn.observations, self._tape.observations[rows]),
            (drawn.next_observations, self._tape.next_observations[last]),
            (drawn.actions, self._tape.actions[rows]),
            (drawn.terminated, self._tape.terminated[last]),
        ]
        same = [(found == wanted).reshape(*rows.shape, -1).all(axis=-1) for found, wanted in pairs]
        return np.where(np.logical_and.reduce(same), rows, -1)

    def differences(self, drawn: Drawn, rows: NDArray[np.int64]) -> NDArray[np.float64]:
        """Of each call: the largest difference of a reward and of a factor, as a share of what it should be."""
        if self._sizes.prioritised:
            factors = (self.priorities.min() / self.priorities[rows]) ** BETA
        else:
            factors = self.windows.discounts[rows]
        returns = self.windows.returns[rows]
        # Row 0 has the reward 0.
        parts = [
            np.abs(drawn.rewards - returns) / np.maximum(returns, 1),
            np.abs(drawn.factors - factors) / factors,
        ]
        # Not by a function that drops NaN.
        return np.stack([part.max(axis=1) for part in parts], axis=1)

    def shares(self, rows: NDArray[np.int64]) -> NDArray[np.float64]:
        """How many draws each part of the ring has beyond what its priorities give it, in deviations of chance."""
        share = self.priorities / self.priorities.sum()
        drawn = np.bincount(rows, minlength=len(share))
        draws = self._sizes.calls * self._sizes.batch
        found = []
        for order in (np.arange(len(share)), np.argsort(self.priorities, kind="stable")):
            for part in np.array_split(order, PARTS):
                wanted = share[part].sum()
                found.append((drawn[part].sum() - draws * wanted) / np.sqrt(draws * wanted * (1 - wanted)))
        return np.array(found)

    def _window(self, row: int) -> tuple[int, float, float]:
        total, discount = 0.0, 1.0
        for last in range(row, min(row + self._sizes.steps, self._sizes.capacity)):
            total += discount * float(self._tape.rewards[last])
            discount *= GAMMA
            if self._tape.terminated[last] or self._tape.truncated[last]:
                break
        return last, total, discount


def priorities(errors: NDArray[np.float32]) -> NDArray[np.float64]:
    """The priority that follows from each temporal-difference error."""
    found: NDArray[np.float64] = (np.abs(errors.astype(np.float64)) + EPSILON) ** ALPHA
    return found


def _keys(observations: NDArray[np.float32]) -> NDArray[np.uint64]:
    """The first two values of each, as one number."""
    return np.ascontiguousarray(observations[..., :_KEY_VALUES]).view(np.uint64)[..., 0]
