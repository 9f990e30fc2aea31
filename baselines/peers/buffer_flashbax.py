"""`buffer-push` and `buffer-sample` by Flashbax 0.1.3: its item buffer, whose items are transitions.

    python3 -m baselines.peers.buffer_flashbax push|sample --case ID --parameters JSON ...

Its flat buffer keeps each observation once and makes pairs of neighbours, so the tape's transitions would not come back.
A call is one compiled program. A push takes the ring's own place in memory. A transition is JAX's arrays, made outside
the clock. The program of a push makes a row of them.
"""

from typing import Any

import flashbax
import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from baselines.benchmarks import buffer_sample, buffers
from baselines.inputs.transitions import Fields, Values
from baselines.peers import rings_flashbax
from baselines.peers.rings_flashbax import parts_of, state_of


class Ring:
    """Its ring."""

    def __init__(self, capacity: int, width: int) -> None:
        self._capacity, self._width = capacity, width
        self._parts = parts_of(self._of(1).init(np.zeros(2 * width + 4, np.float32)))
        self._add = jax.jit(self._added, donate_argnums=0)
        self._draw = jax.jit(self._drawn, static_argnums=0)

    def push(self, row: Fields) -> None:
        """Keep one transition."""
        self._parts = self._add(self._parts, row)

    def laid_out(self, row: Fields) -> tuple[Fields]:
        """JAX's arrays, of their own memory."""
        return (Fields(*(jnp.array(field[0]) for field in row)),)

    def read(self, rows: slice) -> Fields:
        """Views of these rows. They must be gone before the next push, which would otherwise copy the ring."""
        held = np.from_dlpack(self._parts[0])[0, rows].view(np.float32)
        return rings_flashbax.fields_of(held, self._width)

    def fill(self, fields: Fields) -> None:
        """Hold these transitions, which are as many as it has room for."""
        self._parts = parts_of(rings_flashbax.filled(self._of(1, add_sequences=True), fields))

    def seed(self, number: int) -> None:
        """Nothing: each draw brings its own."""

    def sample(self, size: int, seed: int) -> Any:
        """A minibatch of its own."""
        return self._draw(size, self._parts, seed % rings_flashbax.SEEDS)

    def gathered(self, batches: list[Any]) -> list[buffer_sample.Drawn]:
        """Views of its rows, which are copied together."""
        rows: Values = np.concatenate(batches)
        fields = rings_flashbax.fields_of(rows, self._width)
        return [buffer_sample.Drawn(*fields[:-1])]

    def _of(self, size: int, *, add_sequences: bool = False) -> Any:
        return flashbax.make_item_buffer(self._capacity, self._capacity, size, add_sequences=add_sequences)

    def _added(self, parts: Any, row: Fields) -> Any:
        item = jnp.concatenate([jnp.atleast_1d(field) for field in row])
        return parts_of(self._of(1).add(state_of(parts), item))

    def _drawn(self, size: int, parts: Any, seed: Array) -> Any:
        return self._of(size).sample(state_of(parts), rings_flashbax.key(seed)).experience


if __name__ == "__main__":
    buffers.main(__doc__, Ring)
