"""SAC by Stable-Baselines3 2.7.1: the benchmark `sac` as near as its own options come to it.

What it does another way stands in matrix.yaml under `differs`. Its monitor, which keeps the episodes, is part of
its ordinary set-up; there is no logging.
"""

# ruff: noqa: E402 - the clock is read before the imports that take seconds.

import time

FIRST_LINE = time.perf_counter()

from stable_baselines3 import SAC
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.vec_env import DummyVecEnv

from baselines.benchmarks import sac as work
from baselines.benchmarks import training, unchecked
from baselines.benchmarks.action_log import Logged, log_of
from baselines.benchmarks.training_in_pytorch import PYTORCH
from baselines.peers import counting, counting_in_pytorch, serving


def train(parameters: work.Parameters, seed: int) -> training.Trained:
    """Train one agent; a gradient step is one of the critics'."""
    monitor = Monitor(Logged(unchecked.maker(parameters.environment)()))
    model = SAC(
        "MlpPolicy",
        DummyVecEnv([lambda: monitor]),
        # It has one for all of its optimisers.
        learning_rate=work.POLICY_LEARNING_RATE,
        buffer_size=work.BUFFER_SIZE,
        # It counts steps that are done, from 1.
        learning_starts=parameters.learning_starts + 1,
        batch_size=parameters.batch,
        tau=work.TAU,
        gamma=work.GAMMA,
        train_freq=1,
        gradient_steps=1,
        ent_coef="auto",
        target_update_interval=work.TARGET_NETWORK_FREQUENCY,
        policy_kwargs={"net_arch": [work.HIDDEN, work.HIDDEN], "optimizer_kwargs": {"fused": True}},
        seed=seed,
        device="cpu",
    )
    gradient_steps = counting_in_pytorch.GradientSteps(model.critic.optimizer)
    started = time.perf_counter()
    model.learn(total_timesteps=parameters.steps, log_interval=None)
    ended = time.perf_counter()
    return training.Trained(
        started=started,
        ended=ended,
        environment_steps=model.num_timesteps,
        gradient_steps=gradient_steps.count,
        episodes=counting.episodes_of([monitor.get_episode_lengths()], [monitor.get_episode_rewards()]),
        weights=model.actor.state_dict(),
        trace={},
        logs=[log_of(monitor)],
    )


if __name__ == "__main__":
    serving.main("sac_sb3", __doc__, work.Parameters, work.BY_HAND, train, FIRST_LINE, PYTORCH)
