"""`sequences` by Flashbax 0.1.3: its trajectory buffer, whose steps are rows.

    python3 -m baselines.peers.sequences_flashbax --case ID --parameters JSON ...

It knows no episodes, so a sequence may go on into the next one. A call is one compiled program.
"""

from typing import Any

import flashbax
import jax
import numpy as np
from jax import Array

from baselines.benchmarks import sequences
from baselines.benchmarks.buffer_sample import Drawn
from baselines.contract import protocol
from baselines.inputs.transitions import Fields
from baselines.peers import rings_flashbax


class Sampler:
    """Its ring, each of whose draws has a seed of its own."""

    def __init__(self, sizes: sequences.Parameters) -> None:
        self._width = sizes.observation
        self._ring = flashbax.make_trajectory_buffer(
            add_batch_size=1,
            sample_batch_size=sizes.sequences,
            sample_sequence_length=sizes.length,
            period=1,
            min_length_time_axis=sizes.length,
            max_length_time_axis=sizes.capacity,
        )
        self._draw = jax.jit(self._drawn)

    def fill(self, fields: Fields) -> None:
        """Hold these transitions."""
        rows = rings_flashbax.rows_of(fields)
        add = jax.jit(self._ring.add, donate_argnums=0)
        self._parts = rings_flashbax.parts_of(add(self._ring.init(rows[0]), rows[None]))
        # Compiles: a window of a single repetition has no warm-up.
        self.sample(0, 0)

    def seed(self, number: int) -> None:
        """Nothing: each draw brings its own."""

    def sample(self, _: int, seed: int) -> Any:
        """Sequences (sequences, length, columns) of their own."""
        return self._draw(self._parts, seed % rings_flashbax.SEEDS)

    def gathered(self, draws: list[Any]) -> list[Drawn]:
        """Views of its rows, which are copied together."""
        rows = np.concatenate(draws)
        fields = rings_flashbax.fields_of(rows.reshape(-1, rows.shape[-1]), self._width)
        return [Drawn(*fields[:-1])]

    def _drawn(self, parts: Any, seed: Array) -> Any:
        return self._ring.sample(rings_flashbax.state_of(parts), rings_flashbax.key(seed)).experience


if __name__ == "__main__":
    sequences.run(protocol.parser(__doc__).parse_args(), Sampler)
