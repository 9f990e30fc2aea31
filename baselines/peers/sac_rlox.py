"""SAC by rlox 1.2.0: the benchmark `sac` as near as its own options come to it.

What it does another way stands in matrix.yaml under `differs`.
"""

# ruff: noqa: E402 - the clock is read before the imports that take seconds.

import time

FIRST_LINE = time.perf_counter()

from rlox.algorithms.sac import SAC

from baselines.benchmarks import sac as work
from baselines.benchmarks import training
from baselines.benchmarks.action_log import log_of
from baselines.benchmarks.training_in_pytorch import PYTORCH
from baselines.peers import counting, counting_in_pytorch, serving


def train(parameters: work.Parameters, seed: int) -> training.Trained:
    """Train one agent; a gradient step is one of the critics'."""
    environment = counting.recorded(parameters.environment, seed, parameters.steps)
    agent = SAC(
        environment,
        buffer_size=work.BUFFER_SIZE,
        # It has one for all of its optimisers.
        learning_rate=work.POLICY_LEARNING_RATE,
        batch_size=parameters.batch,
        tau=work.TAU,
        gamma=work.GAMMA,
        # It begins at that step, not after it.
        learning_starts=parameters.learning_starts + 1,
        hidden=work.HIDDEN,
    )
    gradient_steps = counting_in_pytorch.GradientSteps(agent.critic1_optimizer)
    started = time.perf_counter()
    agent.train(parameters.steps)
    ended = time.perf_counter()
    return training.Trained(
        started=started,
        ended=ended,
        environment_steps=agent._global_step,
        gradient_steps=gradient_steps.count,
        episodes=counting.episodes(environment),
        weights=agent.actor.state_dict(),
        trace={},
        logs=[log_of(environment)],
    )


if __name__ == "__main__":
    serving.main("sac_rlox", __doc__, work.Parameters, work.BY_HAND, train, FIRST_LINE, PYTORCH)
