"""PPO as fast as PyTorch does it, with environments and advantages of our module: what the module adds to tuned code.

Acting and learning are those of `baselines/tuned/ppo.py`, with the same draws in the same order.

By hand, from the repository's root:

    uv run --project baselines python -m baselines.ours.ppo_torchforge_tuned [--seed 1] [--iterations 48]
"""

# ruff: noqa: E402 - the clock is read before the imports that take seconds.

import time
from functools import partial

FIRST_LINE = time.perf_counter()

import numpy as np
import torch
import torchforge
from numpy.typing import NDArray

from baselines.benchmarks import ppo as work
from baselines.benchmarks import training
from baselines.benchmarks.ppo import Parameters
from baselines.benchmarks.training import Trained, Variant
from baselines.benchmarks.training_in_pytorch import PYTORCH
from baselines.contract import protocol
from baselines.ours.phases_ppo_rollouts import Episodes
from baselines.ours.phases_ppo_torchforge import spaces_of
from baselines.references import phases_ppo, ppo
from baselines.tuned.few_rows import FewRows, Floats, tanh
from baselines.tuned.ppo import Learner, empty_rollout, learn, parity, rows_of


def advantages_of(rewards: Floats, dones: Floats, values: Floats) -> Floats:
    """As the tuned reference's, by one call of our module, which takes a row for each environment."""
    rewards_by_row, values_by_row, ended_by_row = (
        np.ascontiguousarray(each.T, dtype=np.float64) for each in (rewards, values[:-1], dones[1:])
    )
    last_values = values[-1].astype(np.float64)
    by_row, _ = torchforge.compute_gae_batched(
        rewards_by_row, values_by_row, ended_by_row, last_values, work.GAMMA, work.GAE_LAMBDA
    )
    return np.ascontiguousarray(by_row.T, dtype=np.float32)


def train(parameters: Parameters, seed: int) -> Trained:
    """As the tuned reference's: the same draws in the same order.

    Args:
        parameters: the case's.
        seed: of the first environment, the next ones counting on; that of the networks is PyTorch's own.
    """
    count, steps, rows = parameters.environments, parameters.rollout_steps, parameters.rollout_rows
    environments = torchforge.make_vec(parameters.environment, count, "SameStep")
    shape, space = spaces_of(parameters.environment)
    agent = ppo.make_agent(int(np.prod(shape)), int(space.n))
    initial = ppo.initial_weights(agent)
    learner = Learner(agent)
    rollout = empty_rollout(parameters, shape)
    logits = FewRows([each.numpy() for each in learner.actor], tanh)
    ended_before = np.zeros((steps + 1, count), dtype=np.bool_)
    progress = protocol.Progress(total=parameters.iterations * rows, unit="environment step")
    environment_steps = gradient_steps = 0
    episodes = Episodes(count)
    taken: list[NDArray[np.int64]] = []
    trace = ppo.Trace()

    # As the tuned reference does.
    torch.set_flush_denormal(True)
    rollout.observations[-1] = environments.reset(seed=seed)[0]
    started = time.perf_counter()
    for iteration in range(1, parameters.iterations + 1):
        learner.optimizer.learning_rate = ppo.annealed(iteration, parameters.iterations)

        # Act.
        rollout.observations[0] = rollout.observations[-1]
        rollout.dones[0] = rollout.dones[-1]
        draws = torch.empty(steps, count, int(space.n)).exponential_().log_().numpy()
        for step in range(steps):
            actions = (logits(rollout.observations[step]) - draws[step]).argmax(axis=1)
            seen, rewards, terminations, truncations, _ = environments.step(actions)
            ended = terminations | truncations
            rollout.observations[step + 1] = seen
            rollout.actions[step] = actions
            rollout.rewards[step] = rewards
            rollout.dones[step + 1] = ended_before[step + 1] = ended
            episodes.step(rewards, ended)
            environment_steps += count

        trace.iteration(learner.optimizer.learning_rate, rollout.dones, ended_before)
        taken.append(rollout.actions.copy())

        flat = rows_of(rollout, learner, advantages_of)
        gradient_steps += learn(flat, learner, parameters, trace, environment_steps)
        progress.report(environment_steps)
    ended_at = time.perf_counter()
    return Trained(
        started=started,
        ended=ended_at,
        environment_steps=environment_steps,
        gradient_steps=gradient_steps,
        episodes=episodes.finished,
        weights=agent.state_dict(),
        trace=trace.tensors() | initial,
        logs=episodes.logs(space, np.concatenate(taken), seed),
    )


if __name__ == "__main__":
    training.main(
        training.Algorithm(
            name="ppo-torchforge-tuned",
            description=__doc__,
            parameters=Parameters,
            by_hand=phases_ppo.BY_HAND,
            variant=Variant(
                train=train, parity=partial(parity, Learner, look_back=advantages_of), library=PYTORCH
            ),
        ),
        FIRST_LINE,
    )
