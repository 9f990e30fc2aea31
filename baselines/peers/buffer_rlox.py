"""`buffer-push` and `buffer-sample` by rlox 1.2.0: its `ReplayBuffer`.

    python3 -m baselines.peers.buffer_rlox push|sample --case ID --parameters JSON ...

It lends no rows, so what it holds is read back by draws. A draw of as many transitions with the same seed takes the same
places of any ring that is as full. A second ring holds the numbers of its places, and so tells which place each drawn
transition comes from. Were that ever false, the transitions would come in another order, and the gate would say so.
"""

from typing import Any

import numpy as np
import rlox

from baselines.benchmarks import buffer_push, buffer_sample, buffers
from baselines.inputs.transitions import Fields

# Transitions that are read back for a digest.
_SOME = 256
# Draws of a whole ring until each place came up. Ten to fifteen do for 11,000 places; so many never fall short by chance.
_MOST_DRAWS = 100


class Ring:
    """Its ring, each of whose draws has a seed of its own."""

    def __init__(self, capacity: int, width: int) -> None:
        self._ring, self._capacity = rlox.ReplayBuffer(capacity, width, 1), capacity
        self._places: Any = None
        self.push, self.sample = self._ring.push, self._ring.sample

    def laid_out(self, row: Fields) -> tuple[Any, ...]:
        """Arrays of one axis, and plain numbers: it takes no other."""
        observation, next_observation, action, reward, terminated, truncated = row
        flags = bool(terminated[0]), bool(truncated[0])
        return (observation[0], action[0], float(reward[0]), *flags, next_observation[0])

    def read(self, rows: slice) -> Fields:
        """What draws find in these rows, once the ring is full."""
        count = rows.stop - rows.start
        found: Fields | None = None
        missing = np.ones(count, np.bool_)
        for seed in range(_MOST_DRAWS):
            places, fields = self._drawn(self._capacity, seed)
            inside = (places >= rows.start) & (places < rows.stop)
            at = places[inside] - rows.start
            if found is None:
                found = Fields(*(np.zeros((count, *field.shape[1:]), np.float32) for field in fields))
            for kept, field in zip(found, fields, strict=True):
                kept[at] = field[inside]
            missing[at] = False
            if not missing.any():
                return found
        raise RuntimeError(
            f"{_MOST_DRAWS} draws of {self._capacity} transitions left {missing.sum()} of {count} rows out: "
            "rlox does not draw all that its ring holds"
        )

    def some(self, seed: int) -> tuple[Any, Fields]:
        """A few rows, and what lies in them."""
        return self._drawn(min(_SOME, self._capacity), seed)

    def _drawn(self, size: int, seed: int) -> tuple[Any, Fields]:
        """The places of a draw, and its transitions."""
        if self._places is None:
            self._places = _numbered(self._capacity)
        places = self._places.sample(size, seed)["rewards"].astype(np.int64)
        b = self._ring.sample(size, seed)
        flags = (b[name].astype(np.float32) for name in ("terminated", "truncated"))
        return places, Fields(b["obs"], b["next_obs"], b["actions"].reshape(-1, 1), b["rewards"], *flags)

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


def _numbered(capacity: int) -> Any:
    """A full ring whose rewards are the numbers of their places, which f32 holds exactly below 2**24."""
    ring, numbers = rlox.ReplayBuffer(capacity, 1, 1), np.arange(capacity, dtype=np.float32)
    zeros, flags = np.zeros(capacity, np.float32), np.zeros(capacity, np.uint8)
    ring.push_batch(zeros, zeros, zeros, numbers, flags, flags)
    return ring


if __name__ == "__main__":
    buffers.main(__doc__, Ring, buffer_push.run_drawn)
