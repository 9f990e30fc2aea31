"""`replay` by rlox 1.2.0: its `PrioritizedReplayBuffer`. It computes no returns over several steps."""

from typing import Any

import numpy as np
import rlox

from baselines.benchmarks import prioritised
from baselines.benchmarks.prioritised import ALPHA, BETA, EPSILON, Drawn
from baselines.contract import protocol
from baselines.inputs.transitions import Fields


class Sampler:
    """Its ring, each of whose draws has a seed of its own."""

    def __init__(self, sizes: prioritised.Parameters) -> None:
        self._ring = rlox.PrioritizedReplayBuffer(sizes.capacity, sizes.observation, 1, ALPHA, BETA)

    def fill(self, fields: Fields) -> None:
        """Hold these transitions, with their priorities."""
        for row in range(len(fields.rewards)):
            observation, next_observation, action, reward, terminated, truncated = (
                field[row] for field in fields
            )
            flags = bool(terminated), bool(truncated)
            self._ring.push(observation, action, float(reward), *flags, next_observation, 1.0)
        rows = np.arange(len(fields.rewards), dtype=np.uint64)
        self._ring.update_priorities(rows, _sizes_of(fields.actions[:, 0]))

    def seed(self, number: int) -> None:
        """Nothing: each draw brings its own."""

    def gathered(self, batches: list[Any]) -> list[Drawn]:
        """Its arrays; flags, which are bytes, become f32."""
        return [
            Drawn(
                b["obs"],
                b["next_obs"],
                b["actions"],
                b["rewards"],
                b["terminated"].astype(np.float32),
                b["weights"],
            )
            for b in batches
        ]

    def call(self, size: int, seed: int) -> dict[str, Any]:
        """A minibatch of its own, and new priorities."""
        batch: dict[str, Any] = self._ring.sample(size, seed)
        self._ring.update_priorities(batch["indices"], _sizes_of(batch["actions"]))
        return batch


def _sizes_of(errors: Any) -> Any:
    """What it raises to the power of alpha itself: f64."""
    return np.abs(errors.astype(np.float64)) + EPSILON


if __name__ == "__main__":
    prioritised.run(protocol.parser(__doc__).parse_args(), Sampler)
