"""`sequences` by the Rust ring as a Python user gets it: the module's `SequenceReplayBuffer`.

    python3 -m baselines.ours.sequences_torchforge --case ID --parameters JSON ...

Each draw makes a minibatch of its own and hands out its five fields, as the others do.
"""

from typing import Any

import numpy as np
import torchforge

from baselines.benchmarks import sequences
from baselines.benchmarks.buffer_sample import Drawn
from baselines.contract import protocol
from baselines.inputs.transitions import Fields


class Sampler:
    """The module's ring."""

    def __init__(self, sizes: sequences.Parameters) -> None:
        self._ring = torchforge.SequenceReplayBuffer(sizes.capacity, sizes.observation, length=sizes.length)

    def fill(self, fields: Fields) -> None:
        """Hold these transitions."""
        observations, next_observations, actions, rewards, *flags = fields
        terminated, truncated = (flag.astype(np.bool_) for flag in flags)
        self._ring.extend(observations, next_observations, actions, rewards, terminated, truncated)

    def seed(self, number: int) -> None:
        """Begin the draws that follow."""
        self._ring.seed(number)

    def sample(self, transitions: int, _: int) -> tuple[Any, ...]:
        """A minibatch of its own. Each field is made when it is asked for, so all are. A plain tuple is the fastest."""
        of = self._ring.sample(transitions)
        return of.observations, of.next_observations, of.actions, of.rewards, of.terminated

    def gathered(self, draws: list[Any]) -> list[Drawn]:
        """The minibatches, with names."""
        return [Drawn(*each) for each in draws]


if __name__ == "__main__":
    sequences.run(protocol.parser(__doc__).parse_args(), Sampler)
