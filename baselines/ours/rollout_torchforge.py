"""`rollout` by the environments in Rust as a Python user gets them: the module `torchforge`.

    python3 -m baselines.ours.rollout_torchforge steps|collect --case ID --parameters JSON ...

`steps` asks for an action at each step. `collect` takes all actions beforehand, in one call: no policy could act on what
it sees.
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import torchforge

from baselines.benchmarks import numpy_rollout, rollout
from baselines.benchmarks.env_vector import Actions
from baselines.contract import protocol

Array = numpy_rollout.Array


def estimate(rewards: Array, values: Array, dones: Array) -> tuple[Array, Array]:
    """The kernel takes one trajectory after another, so what is stored step by step is turned over."""
    rewards, values, dones = (numpy_rollout.turned_over(array) for array in (rewards, values, dones))
    last_values = np.full(len(rewards), rollout.VALUE)
    advantages, returns = torchforge.compute_gae_batched(
        rewards, values, dones, last_values, rollout.GAMMA, rollout.LAMBDA
    )
    return advantages.T, returns.T


class Collecting:
    """The module's vector, of which each rollout is one call."""

    def __init__(self, environments: int) -> None:
        self._environments = torchforge.make_vec(rollout.NAME, environments, "SameStep")
        self._storages = numpy_rollout.Storages()
        self._ends: Any = None

    def reset(self, seed: int) -> None:
        """Environment i gets the seed plus i."""
        self._storages.begin()
        self._environments.reset(seed=seed)

    def laid_out(self, actions: Actions) -> Actions:
        """As they are."""
        return actions

    def collect(self, actions: Actions) -> numpy_rollout.Stored:
        """Take and store every step."""
        storage = self._storages.next(actions)
        observations, taken, rewards, dones, values = storage
        if self._ends is None:
            self._ends = np.zeros((2, *actions.shape), np.bool_)
        terminated, truncated = self._ends
        self._environments.collect(actions, out=(observations, rewards, terminated, truncated))
        taken[:], values[:] = actions, rollout.VALUE
        np.logical_or(terminated, truncated, out=dones)
        return numpy_rollout.Stored(storage, *estimate(rewards, values, dones))

    def gathered(self, collected: numpy_rollout.Stored) -> rollout.Rollout:
        """Its arrays."""
        return numpy_rollout.gathered(collected)


def stepping(environments: int) -> numpy_rollout.Vector:
    """The module's vector, and NumPy's arrays."""
    return numpy_rollout.Vector(torchforge.make_vec(rollout.NAME, environments, "SameStep"), estimate)


KINDS: Mapping[str, Callable[[int], Any]] = {"steps": stepping, "collect": Collecting}


def main() -> None:
    """Serve the cases."""
    parser = protocol.parser(__doc__)
    parser.add_argument("kind", choices=KINDS, help="how the module is called")
    options = parser.parse_args()
    rollout.run(options, lambda environments, _: KINDS[options.kind](environments))


if __name__ == "__main__":
    main()
