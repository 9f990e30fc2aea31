"""PPO by rlox 1.2.0: the benchmark `ppo` as near as its own options come to it, with its own CartPole in Rust.

What it does another way stands in matrix.yaml under `differs`.
"""

# ruff: noqa: E402 - the clock is read before the imports that take seconds.

import time

FIRST_LINE = time.perf_counter()

from typing import Any

import numpy as np
from numpy.typing import NDArray
from rlox.algorithms.ppo import PPO

from baselines.benchmarks import ppo as work
from baselines.benchmarks import training
from baselines.benchmarks.training_in_pytorch import PYTORCH
from baselines.peers import counting, counting_in_pytorch, serving


class Recorded:
    """Its vector of environments, with the rewards and ends of every step kept."""

    def __init__(self, environments: Any) -> None:
        self._environments = environments
        self.rewards: list[NDArray[np.float64]] = []
        self.ends: list[tuple[NDArray[Any], NDArray[Any]]] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._environments, name)

    def step_all(self, actions: Any) -> dict[str, Any]:
        """One step of all; the caller adds to the rewards in place, so they are copied."""
        result: dict[str, Any] = self._environments.step_all(actions)
        self.rewards.append(result["rewards"].copy())
        self.ends.append((result["terminated"], result["truncated"]))
        return result

    def episodes(self) -> list[training.Episode]:
        """Every finished episode; called when the clock has stopped."""
        rewards, flags = np.array(self.rewards), np.array(self.ends, dtype=bool)
        ends = flags[:, 0] | flags[:, 1]
        lengths: list[list[int]] = []
        returns: list[list[float]] = []
        for environment in range(ends.shape[1]):
            last = np.flatnonzero(ends[:, environment])
            totals = np.cumsum(rewards[:, environment])[last]
            lengths.append(np.diff(last, prepend=-1).tolist())
            returns.append(np.diff(totals, prepend=0.0).tolist())
        return counting.episodes_of(lengths, returns)


def train(parameters: work.Parameters, seed: int) -> training.Trained:
    """Train one agent."""
    agent = PPO(
        parameters.environment,
        n_envs=parameters.environments,
        seed=seed,
        n_steps=parameters.rollout_steps,
        n_epochs=parameters.epochs,
        batch_size=parameters.rollout_rows // parameters.minibatches,
        learning_rate=work.LEARNING_RATE,
        clip_eps=work.CLIP,
        vf_coef=work.VALUE_COEFFICIENT,
        ent_coef=work.ENTROPY_COEFFICIENT,
        max_grad_norm=work.GRADIENT_NORM,
        gamma=work.GAMMA,
        gae_lambda=work.GAE_LAMBDA,
    )
    environments = agent.collector.env = Recorded(agent.collector.env)
    gradient_steps = counting_in_pytorch.GradientSteps(agent.optimizer)
    started = time.perf_counter()
    agent.train(parameters.iterations * parameters.rollout_rows)
    ended = time.perf_counter()
    return training.Trained(
        started=started,
        ended=ended,
        environment_steps=len(environments.ends) * parameters.environments,
        gradient_steps=gradient_steps.count,
        episodes=environments.episodes(),
        weights=agent.policy.state_dict(),
        trace={},
        logs=[],
    )


if __name__ == "__main__":
    serving.main("ppo_rlox", __doc__, work.Parameters, work.BY_HAND, train, FIRST_LINE, PYTORCH)
