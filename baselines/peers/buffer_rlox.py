"""`buffer-sample` by rlox 1.2.0: its `ReplayBuffer`.

What it holds cannot be read back in order, so nothing shows what a push kept: it is not in `buffer-push`.
"""

from typing import Any

import numpy as np
import rlox

from baselines.benchmarks import buffer_sample
from baselines.contract import protocol
from baselines.inputs.transitions import Fields


class Ring:
    """Its ring, each of whose draws has a seed of its own."""

    def __init__(self, capacity: int, width: int) -> None:
        self._ring = rlox.ReplayBuffer(capacity, width, 1)
        self.sample = self._ring.sample

    def fill(self, fields: Fields) -> None:
        """Hold these transitions, which are as many as it has room for."""
        arrays = [field.reshape(-1) for field in fields[:4]]
        self._ring.push_batch(*arrays, *(flags.astype(np.uint8) for flags in fields[4:]))

    def seed(self, number: int) -> None:
        """Nothing: each draw brings its own."""

    def gathered(self, batches: list[Any]) -> list[buffer_sample.Drawn]:
        """Its arrays; flags, which are bytes, become f32."""
        return [
            buffer_sample.Drawn(
                b["obs"], b["next_obs"], b["actions"], b["rewards"], b["terminated"].astype(np.float32)
            )
            for b in batches
        ]


if __name__ == "__main__":
    buffer_sample.run(protocol.parser(__doc__).parse_args(), Ring)
