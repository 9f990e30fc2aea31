"""`sequences` by rlox 1.2.0: its `SequenceReplayBuffer`.

    python3 -m baselines.peers.sequences_rlox --case ID --parameters JSON ...

It draws an episode first, of those that have ended. So steps of short episodes are drawn more often.
"""

from typing import Any

import numpy as np
import rlox

from baselines.benchmarks import sequences
from baselines.benchmarks.buffer_sample import Drawn
from baselines.contract import protocol
from baselines.inputs.transitions import Fields


class Sampler:
    """Its ring, each of whose draws has a seed of its own."""

    def __init__(self, sizes: sequences.Parameters) -> None:
        self._ring = rlox.SequenceReplayBuffer(sizes.capacity, sizes.observation, 1)
        self._sequences, self._length = sizes.sequences, sizes.length

    def fill(self, fields: Fields) -> None:
        """Hold these transitions, which it takes one by one."""
        for observation, next_observation, action, reward, terminated, truncated in zip(*fields, strict=True):
            self._ring.push(
                observation, next_observation, action, float(reward), bool(terminated), bool(truncated)
            )

    def seed(self, number: int) -> None:
        """Nothing: each draw brings its own."""

    def sample(self, _: int, seed: int) -> Any:
        """A dictionary of arrays (sequences, length, ...) of their own."""
        return self._ring.sample_sequences(self._sequences, self._length, seed)

    def gathered(self, draws: list[Any]) -> list[Drawn]:
        """Its arrays, step after step; flags, which are bytes, become f32."""
        return [
            Drawn(
                of["obs"].reshape(-1, of["obs"].shape[-1]),
                of["next_obs"].reshape(-1, of["next_obs"].shape[-1]),
                of["actions"].reshape(-1, 1),
                of["rewards"].reshape(-1),
                of["terminated"].reshape(-1).astype(np.float32),
            )
            for of in draws
        ]


if __name__ == "__main__":
    sequences.run(protocol.parser(__doc__).parse_args(), Sampler)
