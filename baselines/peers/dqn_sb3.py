"""DQN by Stable-Baselines3 2.7.1: the benchmark `dqn` as near as its own options come to it.

What it does another way stands in matrix.yaml under `differs`. Its monitor, which keeps the episodes, is part of
its ordinary set-up; there is no logging.

Its own loss is smooth L1, and no option changes that. With CleanRL's numbers it does not learn then: such a loss hardly
weighs the few large errors at the ends of episodes, so the values grow without bound. By hand the last episodes of
100,000 steps returned 9.6 with it, and 320 with the squared error. So this program puts the squared error in its place.
"""

# ruff: noqa: E402 - the clock is read before the imports that take seconds.

import time
from types import SimpleNamespace

FIRST_LINE = time.perf_counter()

from stable_baselines3 import DQN
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.vec_env import DummyVecEnv
from stable_baselines3.dqn import dqn as module_of_dqn
from torch.nn import functional

from baselines.benchmarks import dqn as work
from baselines.benchmarks import training, unchecked
from baselines.benchmarks.action_log import Logged, log_of
from baselines.benchmarks.training_in_pytorch import PYTORCH
from baselines.peers import counting, counting_in_pytorch, serving


def train(parameters: work.Parameters, seed: int) -> training.Trained:
    """Train one agent."""
    monitor = Monitor(Logged(unchecked.maker(parameters.environment)()))
    model = DQN(
        "MlpPolicy",
        DummyVecEnv([lambda: monitor]),
        learning_rate=work.LEARNING_RATE,
        buffer_size=work.BUFFER_SIZE,
        # It tests before a block of steps what is tested after each of them here.
        learning_starts=parameters.learning_starts + parameters.train_frequency,
        batch_size=work.BATCH_SIZE,
        tau=work.TAU,
        gamma=work.GAMMA,
        train_freq=parameters.train_frequency,
        gradient_steps=1,
        target_update_interval=work.TARGET_NETWORK_FREQUENCY,
        exploration_fraction=work.EXPLORATION_FRACTION,
        exploration_initial_eps=work.START_EPSILON,
        exploration_final_eps=work.END_EPSILON,
        max_grad_norm=float("inf"),
        policy_kwargs={"net_arch": [120, 84], "optimizer_kwargs": {"fused": True}},
        seed=seed,
        device="cpu",
    )
    # The only function that the module takes of this name.
    module_of_dqn.F = SimpleNamespace(smooth_l1_loss=functional.mse_loss)
    gradient_steps = counting_in_pytorch.GradientSteps(model.policy.optimizer)
    started = time.perf_counter()
    model.learn(total_timesteps=parameters.steps, log_interval=None)
    ended = time.perf_counter()
    return training.Trained(
        started=started,
        ended=ended,
        environment_steps=model.num_timesteps,
        gradient_steps=gradient_steps.count,
        episodes=counting.episodes_of([monitor.get_episode_lengths()], [monitor.get_episode_rewards()]),
        weights=model.q_net.state_dict(),
        trace={},
        logs=[log_of(monitor)],
    )


if __name__ == "__main__":
    serving.main("dqn_sb3", __doc__, work.Parameters, work.BY_HAND, train, FIRST_LINE, PYTORCH)
