"""`replay` by Flashbax 0.1.3: its prioritised item buffer. It computes no returns over several steps.

A call is one compiled program, which takes the sum tree's own place in memory. Flashbax gives probabilities and no
weights. The program computes weights, and appends them to the rows as a column. Flashbax keeps no smallest priority, so
the program looks for it among all priorities.

Flashbax's sum tree is f64 here (`jax_enable_x64`). In f32 the sum of 100,000 priorities was off by a hundred-thousandth.
One of 30,000 calls then drew a leaf beyond the last row. Its probability was 0, and the call gave it a priority.
"""

import functools
import math
from typing import Any

import flashbax
import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from baselines.benchmarks import prioritised
from baselines.benchmarks.prioritised import ALPHA, BETA, EPSILON, Drawn
from baselines.contract import protocol
from baselines.inputs.transitions import Fields
from baselines.peers import rings_flashbax

jax.config.update("jax_enable_x64", True)

# Of the priorities, for the search of the smallest. Halves of halves took longer.
_PARTS = 32


class Sampler:
    """Its ring, each of whose draws has a seed of its own."""

    def __init__(self, sizes: prioritised.Parameters) -> None:
        self._width, capacity = sizes.observation, sizes.capacity
        self._ring = flashbax.make_prioritised_item_buffer(
            capacity, capacity, sizes.batch, add_sequences=True, priority_exponent=ALPHA
        )
        self._program = jax.jit(self._called, donate_argnums=0)

    def fill(self, fields: Fields) -> None:
        """Hold these transitions, with their priorities."""
        state = rings_flashbax.filled(self._ring, fields)
        update = jax.jit(self._ring.set_priorities, donate_argnums=0)
        # The tree adds to a priority the difference to the new one, and rounds. The second time makes it exact.
        for _ in range(2):
            state = update(state, np.arange(len(fields.rewards)), _sizes_of(fields.actions[:, 0]))
        self._tree, self._rows = state.sum_tree_state, state.experience
        self._rest = state.replace(sum_tree_state=None, experience=None)
        # Compiles: a window of a single repetition has no warm-up.
        self.call(0, 0)

    def seed(self, number: int) -> None:
        """Nothing: each draw brings its own."""

    def gathered(self, batches: list[Any]) -> list[Drawn]:
        """Views of its rows, which are copied together."""
        rows = np.concatenate(batches)
        fields = rings_flashbax.fields_of(rows, self._width)
        return [Drawn(*fields[:-1], rows[:, -1])]

    def call(self, _: int, seed: int) -> Any:
        """A minibatch of its own, and new priorities."""
        self._tree, drawn = self._program(self._tree, self._rows, seed % rings_flashbax.SEEDS)
        return drawn

    def _called(self, tree: Any, rows: Array, seed: Array) -> Any:
        state = self._rest.replace(sum_tree_state=tree, experience=rows)
        drawn = self._ring.sample(state, rings_flashbax.key(seed))
        first = 2**tree.tree_depth - 1
        lowest = _smallest(tree.nodes[first : first + tree.capacity])
        weights = (lowest / tree.nodes[0] / drawn.probabilities).astype(jnp.float32) ** BETA
        # Without an order of reads and writes XLA copies the tree, which takes longer than all the rest.
        state, drawn, weights = lax.optimization_barrier((state, drawn, weights))
        errors = drawn.experience[:, 2 * self._width]
        state = self._ring.set_priorities(state, drawn.indices, _sizes_of(errors))
        return state.sum_tree_state, jnp.column_stack([drawn.experience, weights])


def _sizes_of(errors: Any) -> Any:
    """What it raises to the power of alpha itself."""
    return jnp.abs(errors) + EPSILON


def _smallest(values: Array) -> Array:
    """The smallest of many values. XLA compares parts with vectors, and a reduction value by value."""
    parts = jnp.split(values, math.gcd(len(values), _PARTS))
    return functools.reduce(jnp.minimum, parts).min()


if __name__ == "__main__":
    prioritised.run(protocol.parser(__doc__).parse_args(), Sampler)
