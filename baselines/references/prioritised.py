"""The reference of `replay`: a sum tree in NumPy, and returns over several steps as Stable-Baselines3 computes them.

    python3 -m baselines.references.prioritised --case ID --parameters JSON ...

The tree is binary. All draws of a minibatch go down together, and all changes go up together.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from baselines.benchmarks import prioritised
from baselines.benchmarks.prioritised import BETA, GAMMA, Drawn
from baselines.contract import protocol
from baselines.inputs.transitions import Fields

Rows = NDArray[np.int64]
Priorities = NDArray[np.float64]


class Tree:
    """Sums and least values of priorities, of which there is one a row. The children of node i are 2 i and 2 i + 1."""

    def __init__(self, capacity: int) -> None:
        self._leaves = 1 << (capacity - 1).bit_length()
        self._sums = np.zeros(2 * self._leaves)
        self._least = np.full(2 * self._leaves, np.inf)

    def change(self, rows: Rows, priorities: Priorities) -> None:
        """Give rows these priorities, and sum up what lies above them."""
        nodes = rows + self._leaves
        self._sums[nodes] = priorities
        self._least[nodes] = priorities
        while nodes[0] > 1:
            nodes = nodes // 2
            self._sums[nodes] = self._sums[2 * nodes] + self._sums[2 * nodes + 1]
            self._least[nodes] = np.minimum(self._least[2 * nodes], self._least[2 * nodes + 1])

    def find(self, shares: NDArray[np.float64]) -> tuple[Rows, NDArray[np.float64]]:
        """The rows at these shares of the whole, and each one's priority over the least."""
        targets = shares * self._sums[1]
        nodes = np.ones(len(targets), np.int64)
        while nodes[0] < self._leaves:
            left = self._sums[2 * nodes]
            # A right child without priority is never entered, whatever rounding did.
            right = (targets >= left) & (self._sums[2 * nodes + 1] > 0)
            targets = np.where(right, targets - left, targets)
            nodes = 2 * nodes + right
        return nodes - self._leaves, self._sums[nodes] / self._least[1]


class Sampler:
    """A full ring."""

    def __init__(self, sizes: prioritised.Parameters) -> None:
        self._sizes = sizes
        self._tree = Tree(sizes.capacity)
        self._generator = np.random.default_rng(0)
        self.call = self._prioritised if sizes.prioritised else self._over_steps

    def fill(self, fields: Fields) -> None:
        """Hold these transitions."""
        self._fields = Fields(*(field.copy() for field in fields))
        self._tree.change(np.arange(self._sizes.capacity), prioritised.priorities(fields.actions[:, 0]))

    def seed(self, number: int) -> None:
        """Begin the draws that follow."""
        self._generator = np.random.default_rng(number)

    def gathered(self, batches: list[Any]) -> list[Drawn]:
        """The minibatches as they are."""
        return batches

    def _prioritised(self, size: int, _: int) -> Drawn:
        """One row of each equal part of the sum of all priorities."""
        shares = (np.arange(size) + self._generator.random(size)) / size
        rows, over_least = self._tree.find(shares)
        fields = self._fields
        drawn = Drawn(
            fields.observations[rows],
            fields.next_observations[rows],
            fields.actions[rows],
            fields.rewards[rows],
            fields.terminated[rows],
            (over_least**-BETA).astype(np.float32),
        )
        self._tree.change(rows, prioritised.priorities(drawn.actions[:, 0]))
        return drawn

    def _over_steps(self, size: int, _: int) -> Drawn:
        """Windows that end with their episode, or with the newest row, which is the last one."""
        capacity, fields = self._sizes.capacity, self._fields
        rows = self._generator.integers(capacity, size=size)
        steps = np.arange(self._sizes.steps)
        window = (rows[:, None] + steps) % capacity
        ended = (fields.terminated[window] > 0) | (fields.truncated[window] > 0) | (window == capacity - 1)
        # The first end, or the last step where there is none.
        count = np.where(ended.any(axis=1), ended.argmax(axis=1), len(steps) - 1)
        within = steps <= count[:, None]
        returns = (fields.rewards[window] * GAMMA**steps * within).sum(axis=1)
        last = (rows + count) % capacity
        return Drawn(
            fields.observations[rows],
            fields.next_observations[last],
            fields.actions[rows],
            returns.astype(np.float32),
            fields.terminated[last],
            (GAMMA ** (count + 1)).astype(np.float32),
        )


if __name__ == "__main__":
    prioritised.run(protocol.parser(__doc__).parse_args(), Sampler)
