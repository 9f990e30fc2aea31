"""`rollout` by TorchRL 0.14.1: the `rollout` of its environments, and its vectorised GAE, in f32.

The vector is that of `env_vector_torchrl.py`. A loop that stores each step in a tensordict made beforehand took longer.
"""

from typing import Any, NamedTuple

import torch
from tensordict import TensorDictBase
from torchrl.objectives.value.functional import vec_generalized_advantage_estimate

from baselines.benchmarks import rollout
from baselines.benchmarks.env_vector import Actions
from baselines.contract import protocol
from baselines.peers import env_vector_torchrl


class Collected(NamedTuple):
    """A rollout, (n, steps), and its advantages and returns, (n, steps, 1)."""

    steps: TensorDictBase
    advantages: torch.Tensor
    returns: torch.Tensor


class Policy:
    """Takes the actions of a rollout, one row after another, and values each state alike."""

    def __init__(self, actions: torch.Tensor) -> None:
        self._rows = iter(actions)
        self._values = torch.full((actions.shape[1], 1), rollout.VALUE)

    def __call__(self, seen: TensorDictBase) -> TensorDictBase:
        """An action and a value for each environment."""
        seen["action"] = next(self._rows)
        seen["state_value"] = self._values
        return seen


class Vector:
    """Its vector, whose rollouts go on from one tensordict to the next."""

    def __init__(self, environments: int, steps: int) -> None:
        self._environments = env_vector_torchrl.made(environments)
        self._steps = steps
        self._next_values = torch.full((environments, steps, 1), rollout.VALUE)
        self._now: Any = None

    def reset(self, seed: int) -> None:
        """Environment i gets the seed plus i."""
        self._now = self._environments.reset(seed=seed)

    def laid_out(self, actions: Actions) -> torch.Tensor:
        """A tensor."""
        return torch.from_numpy(actions)

    def collect(self, actions: torch.Tensor) -> Collected:
        """Take and store every step."""
        environments = self._environments
        steps = environments.rollout(
            self._steps,
            Policy(actions),
            auto_reset=False,
            break_when_any_done=False,
            tensordict=self._now,
        )
        # A rollout leaves out the resets after its last step.
        self._now = environments.maybe_reset(environments.step_mdp(steps[:, -1]))
        after = steps["next"]
        values, rewards = steps["state_value"], after["reward"]
        ends = after["done"], after["terminated"]
        return Collected(
            steps,
            *vec_generalized_advantage_estimate(
                rollout.GAMMA, rollout.LAMBDA, values, self._next_values, rewards, *ends
            ),
        )

    def gathered(self, collected: Collected) -> rollout.Rollout:
        """Its tensors as arrays, the time first."""
        after = collected.steps["next"]
        values = (after["reward"], after["done"], collected.advantages, collected.returns)
        rewards, dones, advantages, returns = (each.squeeze(-1).numpy().T for each in values)
        observations = collected.steps["observation"].numpy().swapaxes(0, 1)
        return rollout.Rollout(observations, rewards, dones, advantages, returns)


def main() -> None:
    """Serve the cases without autograd, which TorchRL's own collectors switch off too."""
    with torch.no_grad():
        rollout.run(protocol.parser(__doc__).parse_args(), Vector)


if __name__ == "__main__":
    main()
