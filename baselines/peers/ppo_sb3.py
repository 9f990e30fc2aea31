"""PPO by Stable-Baselines3 2.7.1: the benchmark `ppo` as near as its own options come to it.

What it does another way stands in matrix.yaml under `differs`. Its monitor, which keeps the episodes, is part of
its ordinary set-up; there is no logging.
"""

# ruff: noqa: E402 - the clock is read before the imports that take seconds.

import time

FIRST_LINE = time.perf_counter()

import gymnasium as gym
from stable_baselines3 import PPO
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.vec_env import DummyVecEnv

from baselines.benchmarks import training
from baselines.benchmarks.action_log import Logged, log_of
from baselines.peers import counting, serving
from baselines.references import ppo as reference


def train(parameters: reference.Parameters, seed: int) -> training.Trained:
    """Train one agent."""
    monitors = [Monitor(Logged(gym.make(parameters.environment))) for _ in range(parameters.environments)]

    def learning_rate(remaining: float) -> float:
        """Its progress is read after a rollout, when that share of the steps is gone already."""
        return reference.LEARNING_RATE * (remaining + 1 / parameters.iterations)

    model = PPO(
        "MlpPolicy",
        DummyVecEnv([lambda monitor=monitor: monitor for monitor in monitors]),
        learning_rate=learning_rate,
        n_steps=parameters.rollout_steps,
        batch_size=parameters.rollout_rows // parameters.minibatches,
        n_epochs=parameters.epochs,
        gamma=reference.GAMMA,
        gae_lambda=reference.GAE_LAMBDA,
        clip_range=reference.CLIP,
        clip_range_vf=reference.CLIP,
        ent_coef=reference.ENTROPY_COEFFICIENT,
        # Its value loss has no half inside.
        vf_coef=reference.VALUE_COEFFICIENT / 2,
        max_grad_norm=reference.GRADIENT_NORM,
        policy_kwargs={
            "net_arch": {"pi": [64, 64], "vf": [64, 64]},
            "optimizer_kwargs": {"eps": reference.ADAM_EPSILON},
        },
        seed=seed,
        device="cpu",
    )
    gradient_steps = counting.GradientSteps(model.policy.optimizer)
    started = time.perf_counter()
    model.learn(total_timesteps=parameters.iterations * parameters.rollout_rows, log_interval=None)
    ended = time.perf_counter()
    return training.Trained(
        started=started,
        ended=ended,
        environment_steps=model.num_timesteps,
        gradient_steps=gradient_steps.count,
        episodes=counting.episodes_of(
            [monitor.get_episode_lengths() for monitor in monitors],
            [monitor.get_episode_rewards() for monitor in monitors],
        ),
        weights=model.policy.state_dict(),
        trace={},
        logs=[log_of(monitor) for monitor in monitors],
    )


if __name__ == "__main__":
    serving.main("ppo_sb3", __doc__, reference.Parameters, reference.BY_HAND, train, FIRST_LINE)
