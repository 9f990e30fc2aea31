"""PPO by Stable-Baselines3 2.7.1: the benchmark `ppo` as near as its own options come to it.

What it does another way stands in matrix.yaml under `differs`. Its monitor, which keeps the episodes, is part of
its ordinary set-up; there is no logging.
"""

# ruff: noqa: E402 - the clock is read before the imports that take seconds.

import time

FIRST_LINE = time.perf_counter()

from stable_baselines3 import PPO
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.vec_env import DummyVecEnv

from baselines.benchmarks import ppo as work
from baselines.benchmarks import training, unchecked
from baselines.benchmarks.action_log import Logged, log_of
from baselines.benchmarks.training_in_pytorch import PYTORCH
from baselines.peers import counting, counting_in_pytorch, serving


def train(parameters: work.Parameters, seed: int) -> training.Trained:
    """Train one agent."""
    monitors = [
        Monitor(Logged(unchecked.maker(parameters.environment)())) for _ in range(parameters.environments)
    ]

    def learning_rate(remaining: float) -> float:
        """Its progress is read after a rollout, when that share of the steps is gone already."""
        return work.LEARNING_RATE * (remaining + 1 / parameters.iterations)

    model = PPO(
        "MlpPolicy",
        DummyVecEnv([lambda monitor=monitor: monitor for monitor in monitors]),
        learning_rate=learning_rate,
        n_steps=parameters.rollout_steps,
        batch_size=parameters.rollout_rows // parameters.minibatches,
        n_epochs=parameters.epochs,
        gamma=work.GAMMA,
        gae_lambda=work.GAE_LAMBDA,
        clip_range=work.CLIP,
        clip_range_vf=work.CLIP,
        ent_coef=work.ENTROPY_COEFFICIENT,
        # Its value loss has no half inside.
        vf_coef=work.VALUE_COEFFICIENT / 2,
        max_grad_norm=work.GRADIENT_NORM,
        policy_kwargs={
            "net_arch": {"pi": [64, 64], "vf": [64, 64]},
            "optimizer_kwargs": {"eps": work.ADAM_EPSILON, "fused": True},
        },
        seed=seed,
        device="cpu",
    )
    gradient_steps = counting_in_pytorch.GradientSteps(model.policy.optimizer)
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
    serving.main("ppo_sb3", __doc__, work.Parameters, work.BY_HAND, train, FIRST_LINE, PYTORCH)
