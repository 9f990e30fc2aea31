"""`replay` as fast as NumPy does it: a flat tree, and rows that lie together.

    python3 -m baselines.tuned.prioritised --case ID --parameters JSON ...

A node of the tree has 64 children, so a draw goes down three levels instead of seventeen, and a change goes up as many.
Each call of NumPy costs more than what it computes here. Windows are followed step by step, in arrays of one axis.
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
        self._generator = np.random.default_rng(0)
        self.call = self._prioritised if sizes.prioritised else self._over_steps
        self._places = np.arange(sizes.batch)

    def fill(self, fields: Fields) -> None:
        """Hold these transitions."""
        self._observations, self._next_observations = (
            fields.observations.copy(),
            fields.next_observations.copy(),
        )
        self._numbers = np.stack([fields.actions[:, 0], fields.rewards, fields.terminated], axis=1)
        self._rewards, self._terminated = fields.rewards.copy(), fields.terminated.copy()
        # How far it is to the next step of the same window: nowhere at an episode's end, and after the newest row.
        going = (fields.terminated == 0) & (fields.truncated == 0)
        going[-1] = False
        self._going = going
        self._tree.change(np.arange(self._sizes.capacity), prioritised.priorities(fields.actions[:, 0]))

    def seed(self, number: int) -> None:
        """Begin the draws that follow."""
        self._generator = np.random.default_rng(number)

    def gathered(self, batches: list[Any]) -> list[Drawn]:
        """The minibatches, with names. What is timed gives plain tuples, which are made faster."""
        return [Drawn(*each) for each in batches]

    def _prioritised(self, size: int, _: int) -> tuple[Any, ...]:
        """One row of each equal part of the sum of all priorities."""
        rows, over_least = self._tree.find((self._places + self._generator.random(size)) / size)
        numbers = self._numbers.take(rows, axis=0)
        drawn = (
            self._observations.take(rows, axis=0),
            self._next_observations.take(rows, axis=0),
            numbers[:, :1],
            numbers[:, 1],
            numbers[:, 2],
            (over_least**-BETA).astype(np.float32),
        )
        self._tree.change(rows, prioritised.priorities(numbers[:, 0]))
        return drawn

    def _over_steps(self, size: int, _: int) -> tuple[Any, ...]:
        """Windows that end with their episode, or with the newest row, which is the last one."""
        rows = self._generator.integers(self._sizes.capacity, size=size)
        last, going = rows, self._going[rows]
        returns = self._rewards[rows].astype(np.float64)
        discounts = np.full(size, GAMMA)
        for _ in range(self._sizes.steps - 1):
            last = last + going
            returns += discounts * self._rewards[last] * going
            discounts = np.where(going, discounts * GAMMA, discounts)
            going = going & self._going[last]
        return (
            self._observations.take(rows, axis=0),
            self._next_observations.take(last, axis=0),
            self._numbers[rows, :1],
            returns.astype(np.float32),
            self._terminated[last],
            discounts.astype(np.float32),
        )


if __name__ == "__main__":
    prioritised.run(protocol.parser(__doc__).parse_args(), Sampler)
