"""`replay` by the Rust ring as a Python user gets it: the module's `PrioritisedReplayBuffer`.

    python3 -m baselines.ours.prioritised_torchforge --case ID --parameters JSON ...

Where draws are uniform its alpha is 0, and there is no tree.
"""

from typing import Any

import numpy as np
import torchforge

from baselines.benchmarks import prioritised
from baselines.benchmarks.prioritised import ALPHA, BETA, EPSILON, GAMMA, Drawn
from baselines.contract import protocol
from baselines.inputs.transitions import Fields


class Sampler:
    """The module's ring."""

    def __init__(self, sizes: prioritised.Parameters) -> None:
        self._ring = torchforge.PrioritisedReplayBuffer(
            sizes.capacity,
            sizes.observation,
            alpha=ALPHA if sizes.prioritised else 0.0,
            epsilon=EPSILON,
            steps=sizes.steps,
            gamma=GAMMA,
        )
        self._is_prioritised = sizes.prioritised
        self.call = self._prioritised if sizes.prioritised else self._over_steps

    def fill(self, fields: Fields) -> None:
        """Hold these transitions, with their priorities."""
        count = len(fields.rewards)
        for row in range(count):
            observation, next_observation, action, reward, terminated, truncated = (
                field[row] for field in fields
            )
            self._ring.push(
                observation, next_observation, action, float(reward), bool(terminated), bool(truncated)
            )
        if self._is_prioritised:
            # All have the same priority, so one of each equal part is each once.
            all_rows = self._ring.sample(count)
            self._ring.update_priorities(all_rows, np.ascontiguousarray(all_rows.transitions.actions[:, 0]))

    def seed(self, number: int) -> None:
        """Begin the draws that follow."""
        self._ring.seed(number)

    def gathered(self, batches: list[Any]) -> list[Drawn]:
        """The minibatches, with names."""
        return [Drawn(*each) for each in batches]

    def _prioritised(self, size: int, _: int) -> tuple[Any, ...]:
        """A minibatch of its own; an action of one value is as many errors.

        Each field is made when it is asked for, so all are. A plain tuple is the fastest.
        """
        batch = self._ring.sample(size, beta=BETA)
        of, actions = batch.transitions, batch.transitions.actions
        self._ring.update_priorities(batch, actions.reshape(-1))
        return of.observations, of.next_observations, actions, of.rewards, of.terminated, batch.weights

    def _over_steps(self, size: int, _: int) -> tuple[Any, ...]:
        """A minibatch of its own."""
        batch = self._ring.sample(size)
        of = batch.transitions
        return of.observations, of.next_observations, of.actions, of.rewards, of.terminated, batch.discounts


if __name__ == "__main__":
    prioritised.run(protocol.parser(__doc__).parse_args(), Sampler)
