"""`replay` as fast as NumPy does it: a flat tree, and rows that lie together.

    python3 -m baselines.tuned.prioritised --case ID --parameters JSON ...

A node of the tree has 64 children, so a draw goes down three levels instead of seventeen, and a change goes up as many.
Each call of NumPy costs more than what it computes here. How long the window of each row is, is known before the draws.
The rewards of a window are one item of a view. Its items overlap, so each window is one copy.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from baselines.benchmarks import prioritised
from baselines.benchmarks.prioritised import BETA, GAMMA, Drawn
from baselines.contract import protocol
from baselines.inputs.transitions import Fields

_CHILDREN = 64

Rows = NDArray[np.int64]
Priorities = NDArray[np.float64]


class Tree:
    """Sums and least values, level by level: the last one has the priorities themselves."""

    def __init__(self, capacity: int) -> None:
        self._sums: list[Priorities] = []
        self._least: list[Priorities] = []
        count = _CHILDREN
        while True:
            # A row a node.
            self._sums.append(np.zeros((count // _CHILDREN, _CHILDREN)))
            self._least.append(np.full((count // _CHILDREN, _CHILDREN), np.inf))
            if count >= capacity:
                break
            count *= _CHILDREN

    def change(self, rows: Rows, priorities: Priorities) -> None:
        """Give rows these priorities, and sum up what lies above them."""
        self._sums[-1].reshape(-1)[rows] = priorities
        self._least[-1].reshape(-1)[rows] = priorities
        for level in range(len(self._sums) - 1, 0, -1):
            rows = rows // _CHILDREN
            self._sums[level - 1].reshape(-1)[rows] = self._sums[level].take(rows, axis=0).sum(axis=1)
            self._least[level - 1].reshape(-1)[rows] = self._least[level].take(rows, axis=0).min(axis=1)

    def find(self, shares: NDArray[np.float64]) -> tuple[Rows, NDArray[np.float64]]:
        """The rows at these shares of the whole, and each one's priority over the least."""
        first = self._sums[0][0].cumsum()
        targets = shares * first[-1]
        # Below the total, so that the child is one with a priority, whatever rounding did.
        rows = first.searchsorted(np.minimum(targets, first[-1] * (1 - 1e-15)), side="right")
        targets = targets - first[rows] + self._sums[0][0][rows]
        for level in self._sums[1:]:
            sums = level.take(rows, axis=0).cumsum(axis=1)
            targets = np.minimum(targets, sums[:, -1] * (1 - 1e-15))
            child = (sums <= targets[:, None]).sum(axis=1)
            rows = rows * _CHILDREN + child
            targets = targets - sums[np.arange(len(sums)), child] + level.reshape(-1)[rows]
        return rows, self._sums[-1].reshape(-1)[rows] / self._least[0].min()


class Sampler:
    """A full ring."""

    def __init__(self, sizes: prioritised.Parameters) -> None:
        self._sizes = sizes
        self._tree = Tree(sizes.capacity)
        self.call = self._prioritised if sizes.prioritised else self._over_steps
        self._places = np.arange(sizes.batch)
        # An array, which multiplies faster than a number.
        self._capacity = np.array(sizes.capacity, np.float64)
        # Row k is for a window that goes on for k rows: the factors of its rewards, and its discount.
        discounts = np.multiply.accumulate([1.0, *[GAMMA] * sizes.steps])
        self._weights = np.tril(np.broadcast_to(discounts[:-1], (sizes.steps, sizes.steps)))
        self._discounts = discounts[1:].astype(np.float32)
        self.seed(0)

    def fill(self, fields: Fields) -> None:
        """Hold these transitions."""
        # A window takes observation and action from its first row, and the other fields from its last. A prioritised
        # draw, which has one row, takes its reward there too.
        self._firsts = np.concatenate([fields.observations, fields.actions], axis=1)
        self._lasts = np.column_stack([fields.next_observations, fields.rewards, fields.terminated])
        self._rewards = windows(fields.rewards, self._sizes.steps)
        self._further = steps_further(fields, self._sizes.steps)
        self._tree.change(np.arange(self._sizes.capacity), prioritised.priorities(fields.actions[:, 0]))

    def seed(self, number: int) -> None:
        """Begin the draws that follow."""
        self._random = np.random.default_rng(number).random

    def gathered(self, batches: list[Any]) -> list[Drawn]:
        """The minibatches, with names. What is timed gives plain tuples, which are made faster."""
        return [Drawn(*each) for each in batches]

    def _prioritised(self, size: int, _: int) -> tuple[Any, ...]:
        """One row of each equal part of the sum of all priorities."""
        rows, over_least = self._tree.find((self._places + self._random(size)) / size)
        firsts, lasts = self._firsts.take(rows, 0), self._lasts.take(rows, 0)
        drawn = (
            firsts[:, :-1],
            lasts[:, :-2],
            firsts[:, -1:],
            lasts[:, -2],
            lasts[:, -1],
            (over_least**-BETA).astype(np.float32),
        )
        self._tree.change(rows, prioritised.priorities(firsts[:, -1]))
        return drawn

    def _over_steps(self, size: int, _: int) -> tuple[Any, ...]:
        """Windows that end with their episode, or with the newest row, which is the last one."""
        # A fraction is below 1 by so much that no product is rounded up to the capacity.
        rows = (self._random(size) * self._capacity).astype(np.int64)
        further = self._further[rows]
        rewards = self._rewards[rows].view(np.float64).reshape(size, -1)
        returns = np.vecdot(rewards, self._weights.take(further, 0)).astype(np.float32)
        firsts, lasts = self._firsts.take(rows, 0), self._lasts.take(rows + further, 0)
        return (
            firsts[:, :-1],
            lasts[:, :-2],
            firsts[:, -1:],
            returns,
            lasts[:, -1],
            self._discounts[further],
        )


def windows(rewards: NDArray[np.float32], steps: int) -> NDArray[np.void]:
    """The rewards from each row on, in double precision: an item a row. Beyond the last row they are 0."""
    given = np.append(rewards.astype(np.float64), np.zeros(steps - 1))
    size = given.itemsize
    return np.ndarray(len(rewards), f"V{steps * size}", given, strides=(size,))


def steps_further(fields: Fields, steps: int) -> Rows:
    """How many rows each row's window goes on after it, until its episode ends or the newest row is there."""
    going = (fields.terminated == 0) & (fields.truncated == 0)
    going[-1] = False
    further = np.zeros(len(going), np.int64)
    for _ in range(steps - 1):
        # A window goes on one row further than that of the next row. So many rounds are the most steps that it can go on.
        further[:-1] = np.where(going[:-1], further[1:] + 1, 0)
    return further


if __name__ == "__main__":
    prioritised.run(protocol.parser(__doc__).parse_args(), Sampler)
