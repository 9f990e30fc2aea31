"""`rollout` by Stable-Baselines3 2.7.1: its `DummyVecEnv` and its `RolloutBuffer`, which keeps f32.

The loop is that of its on-policy algorithms without the network. Its buffer also keeps log-probabilities, and which steps
begin an episode.
"""

from typing import Any, NamedTuple

import numpy as np
import torch
from stable_baselines3.common.buffers import RolloutBuffer

from baselines.benchmarks import rollout
from baselines.benchmarks.env_vector import Actions
from baselines.contract import protocol
from baselines.peers.env_vector_sb3 import dummy


class Collected(NamedTuple):
    """A full buffer, and which episodes ended with the last step."""

    buffer: RolloutBuffer
    ended: Any


class Vector:
    """Its vector, of which each rollout has a buffer of its own."""

    def __init__(self, environments: int, steps: int) -> None:
        torch.set_num_threads(protocol.threads())
        self._environments = dummy(environments)
        self._steps = steps
        # What the network would give at each step.
        self._values = torch.full((environments, 1), rollout.VALUE)
        self._log_probabilities = torch.zeros(environments)
        self._seen: Any = None
        self._began = np.ones(environments, np.bool_)

    def reset(self, seed: int) -> None:
        """Environment i gets the seed plus i."""
        self._environments.seed(seed)
        self._seen = self._environments.reset()
        self._began = np.ones(self._environments.num_envs, np.bool_)

    def laid_out(self, actions: Actions) -> Actions:
        """As they are."""
        return actions

    def collect(self, actions: Actions) -> Collected:
        """Take and store every step."""
        environments = self._environments
        buffer = RolloutBuffer(
            self._steps,
            environments.observation_space,
            environments.action_space,
            device="cpu",
            gae_lambda=rollout.LAMBDA,
            gamma=rollout.GAMMA,
            n_envs=environments.num_envs,
        )
        step, add, values, log_probabilities = (
            environments.step,
            buffer.add,
            self._values,
            self._log_probabilities,
        )
        seen, began = self._seen, self._began
        for action in actions:
            now, rewards, ended, _ = step(action)
            add(seen, action.reshape(-1, 1), rewards, began, values, log_probabilities)
            seen, began = now, ended
        self._seen, self._began = seen, began
        buffer.compute_returns_and_advantage(last_values=values, dones=began)
        return Collected(buffer, began)

    def gathered(self, collected: Collected) -> rollout.Rollout:
        """Its arrays; a step ended an episode where the next one begins one."""
        buffer = collected.buffer
        dones = np.concatenate([buffer.episode_starts[1:], collected.ended[np.newaxis]])
        return rollout.Rollout(buffer.observations, buffer.rewards, dones, buffer.advantages, buffer.returns)


if __name__ == "__main__":
    rollout.run(protocol.parser(__doc__).parse_args(), Vector)
