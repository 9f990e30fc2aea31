"""`env-vector` by TorchRL 0.14.1: its `GymWrapper` around Gymnasium's `SyncVectorEnv`, which it resets itself.

Of its vectors of Gymnasium's environments this one is the fastest on one processor: `GymEnv` with `num_envs` and
`ParallelEnv` start processes, `SerialEnv` wraps each environment alone, and the same-step mode reads a dictionary of
information besides. It keeps references to observations, so the vector copies them.
"""

import logging
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import torch
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from numpy.typing import NDArray
from tensordict import TensorDictBase
from torchrl.envs import GymWrapper

from baselines.benchmarks import env_vector, unchecked
from baselines.contract import protocol

# It logs to stdout, which belongs to the protocol.
logging.getLogger("torchrl").setLevel(logging.WARNING)

_ONE = unchecked.maker(env_vector.NAME)


def made(count: int) -> Any:
    """Observations, rewards and flags as tensors; actions as whole numbers."""
    torch.set_num_threads(protocol.threads())
    environments = SyncVectorEnv([_ONE] * count, autoreset_mode=AutoresetMode.DISABLED)
    return GymWrapper(environments, categorical_action_encoding=True)


class Stepped(NamedTuple):
    """What a step gave, and what is seen now."""

    after: TensorDictBase
    now: TensorDictBase


class Vector:
    """Its vector, whose steps go on from one tensordict to the next."""

    def __init__(self, count: int) -> None:
        self._environments = made(count)
        self._now: Any = None

    @property
    def step(self) -> Callable[[Any], Any]:
        """A step, and the resets of what ended."""
        step_and_maybe_reset = self._environments.step_and_maybe_reset

        def step(actions: torch.Tensor) -> Stepped:
            self._now["action"] = actions
            after, self._now = step_and_maybe_reset(self._now)
            return Stepped(after, self._now)

        return step

    def reset(self, seed: int) -> NDArray[Any]:
        """Environment i gets the seed plus i."""
        self._now = self._environments.reset(seed=seed)
        observations: NDArray[Any] = self._now["observation"].numpy()
        return observations

    def laid_out(self, actions: env_vector.Actions) -> torch.Tensor:
        """A tensor."""
        return torch.from_numpy(actions)

    def read(self, stepped: Stepped) -> env_vector.Step:
        """A step's last observations are apart from what is seen after the resets."""
        after = stepped.after["next"]
        rewards, terminated, truncated = (
            after[name].squeeze(-1).numpy() for name in ("reward", "terminated", "truncated")
        )
        final = env_vector.final_rows(np.logical_or(terminated, truncated), after["observation"].numpy())
        observations = stepped.now["observation"].numpy()
        return env_vector.Step(observations, rewards, terminated, truncated, final)


if __name__ == "__main__":
    # TorchRL's own collectors switch autograd off too.
    with torch.no_grad():
        env_vector.run(protocol.parser(__doc__).parse_args(), Vector)
