"""DQN by rlox 1.2.0: the benchmark `dqn` as near as its own options come to it.

What it does another way stands in matrix.yaml under `differs`.
"""

# ruff: noqa: E402 - the clock is read before the imports that take seconds.

import time

FIRST_LINE = time.perf_counter()

import gymnasium as gym
from rlox.algorithms.dqn import DQN

from baselines.benchmarks import dqn as work
from baselines.benchmarks import training
from baselines.benchmarks.action_log import log_of
from baselines.benchmarks.training_in_pytorch import PYTORCH
from baselines.peers import counting, counting_in_pytorch, serving
from baselines.references import dqn as reference


def train(parameters: work.Parameters, seed: int) -> training.Trained:
    """Train one agent."""
    environment = counting.recorded(parameters.environment, seed, parameters.steps)
    agent = DQN(
        environment,
        buffer_size=work.BUFFER_SIZE,
        learning_rate=work.LEARNING_RATE,
        batch_size=work.BATCH_SIZE,
        gamma=work.GAMMA,
        target_update_freq=work.TARGET_NETWORK_FREQUENCY,
        exploration_fraction=work.EXPLORATION_FRACTION,
        exploration_initial_eps=work.START_EPSILON,
        exploration_final_eps=work.END_EPSILON,
        # It begins at that step, not after it.
        learning_starts=parameters.learning_starts + 1,
        double_dqn=False,
        train_freq=parameters.train_frequency,
        max_grad_norm=float("inf"),
        q_network=reference.make_network(
            gym.spaces.flatdim(environment.observation_space), gym.spaces.flatdim(environment.action_space)
        ),
    )
    gradient_steps = counting_in_pytorch.GradientSteps(agent.optimizer)
    started = time.perf_counter()
    agent.train(parameters.steps)
    ended = time.perf_counter()
    return training.Trained(
        started=started,
        ended=ended,
        environment_steps=agent._global_step,
        gradient_steps=gradient_steps.count,
        episodes=counting.episodes(environment),
        weights=agent.q_network.state_dict(),
        trace={},
        logs=[log_of(environment)],
    )


if __name__ == "__main__":
    serving.main("dqn_rlox", __doc__, work.Parameters, work.BY_HAND, train, FIRST_LINE, PYTORCH)
