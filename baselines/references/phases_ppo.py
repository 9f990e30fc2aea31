"""`phases-ppo` by plain PyTorch, instrumented: the loop of `baselines/references/ppo.py` with a border after each phase.

Uninstrumented it is that file itself. The statements, their order and every random draw are that file's, and a test holds
the final weights of both to be the same bytes.

By hand, from the repository's root:

    uv run --project baselines python -m baselines.references.phases_ppo --phases [--seed 1] [--iterations 48]
"""

# ruff: noqa: E402 - the clock is read before the imports that take seconds.

import time
from collections.abc import Mapping
from functools import partial

FIRST_LINE = time.perf_counter()

import numpy as np
import torch

from baselines.benchmarks import phases, training
from baselines.benchmarks.action_log import logs_of
from baselines.benchmarks.phases import Layer, MakeWatch, Phase
from baselines.benchmarks.ppo import Parameters
from baselines.benchmarks.training import Trained, Variant
from baselines.benchmarks.training_in_pytorch import PYTORCH
from baselines.contract import protocol
from baselines.references import ppo
from baselines.references.ppo import Minibatch, Rollout

# The profiling report of rlox trained with 8 environments and two minibatches: 49,152 steps.
BY_HAND: Mapping[str, str | int] = {
    "environment": "CartPole-v1",
    "environments": 8,
    "rollout_steps": 128,
    "minibatches": 2,
    "epochs": 4,
    "iterations": 48,
}

PHASES = (
    Phase("environment", Layer.PYTHON),
    Phase("acting", Layer.PYTORCH),
    Phase("storing", Layer.PYTORCH),
    Phase("episodes", Layer.PYTHON),
    Phase("advantages", Layer.PYTORCH),
    Phase("minibatches", Layer.PYTORCH),
    Phase("update", Layer.PYTORCH),
    Phase("other", Layer.PYTHON),
)
ENVIRONMENT, ACTING, STORING, EPISODES, ADVANTAGES, MINIBATCHES, UPDATE, OTHER = range(len(PHASES))


def train(  # noqa: PLR0915 - one loop, and a border is a statement
    parameters: Parameters, seed: int, *, watching: MakeWatch
) -> Trained:
    """Train an agent as `ppo.train` does, and tell the watch what each moment was spent on."""
    environments = ppo.make_environments(parameters.environment, parameters.environments)
    agent = ppo.make_agent(*ppo.sizes_of(environments))
    optimizer = ppo.make_optimizer(agent)
    steps, rows = parameters.rollout_steps, parameters.rollout_rows
    minibatch_rows = rows // parameters.minibatches
    shape = (steps, parameters.environments)
    observation_shape = tuple(environments.single_observation_space.shape or ())
    rollout = Rollout(torch.zeros(*shape, *observation_shape), *(torch.zeros(shape) for _ in range(5)))
    progress = protocol.Progress(total=parameters.iterations * rows, unit="environment step")
    environment_steps = gradient_steps = 0
    episodes: list[training.Episode] = []
    trace = ppo.Trace()
    initial = ppo.initial_weights(agent)

    next_observations = torch.Tensor(environments.reset(seed=seed)[0])
    next_done = torch.zeros(parameters.environments)
    ended_before = np.zeros((steps + 1, parameters.environments), dtype=np.bool_)
    watch = watching(PHASES)
    ended = watch.ended
    started = watch.start()
    for iteration in range(1, parameters.iterations + 1):
        optimizer.param_groups[0]["lr"] = ppo.annealed(iteration, parameters.iterations)
        ended(OTHER)

        # Act.
        for step in range(steps):
            environment_steps += parameters.environments
            rollout.observations[step] = next_observations
            rollout.dones[step] = next_done
            ended(STORING)
            with torch.no_grad():
                actions, log_probabilities, _, values = ppo.act(agent, next_observations)
                ended(ACTING)
                rollout.values[step] = values.flatten()
            rollout.actions[step] = actions
            rollout.log_probabilities[step] = log_probabilities
            taken = actions.numpy()
            ended(STORING)
            observations, rewards, terminations, truncations, infos = environments.step(taken)
            ended(ENVIRONMENT)
            ended_before[step + 1] = terminations | truncations
            rollout.rewards[step] = torch.tensor(rewards).view(-1)
            next_observations = torch.Tensor(observations)
            next_done = torch.Tensor(np.logical_or(terminations, truncations))
            ended(STORING)
            episodes += training.episodes_of(infos, environment_steps - parameters.environments)
            ended(EPISODES)

        # Look back.
        with torch.no_grad():
            next_value = agent["critic"](next_observations).flatten()
            ended(ACTING)
            advantages = ppo.advantages_of(
                rollout.rewards, rollout.dones, rollout.values, next_value, next_done
            )
            returns = advantages + rollout.values
        ended(ADVANTAGES)

        trace.iteration(
            optimizer.param_groups[0]["lr"],
            np.vstack([rollout.dones.numpy(), next_done.numpy()]),
            ended_before,
        )
        ended(OTHER)

        # Learn.
        flat = Minibatch(
            observations=rollout.observations.reshape(-1, *observation_shape),
            actions=rollout.actions.reshape(-1).long(),
            log_probabilities=rollout.log_probabilities.reshape(-1),
            advantages=advantages.reshape(-1),
            returns=returns.reshape(-1),
            values=rollout.values.reshape(-1),
        )
        order = np.arange(rows)
        for _ in range(parameters.epochs):
            np.random.shuffle(order)
            for start in range(0, rows, minibatch_rows):
                chosen = order[start : start + minibatch_rows]
                batch = Minibatch(*(each[chosen] for each in flat))
                ended(MINIBATCHES)
                ppo.update(agent, optimizer, batch)
                ended(UPDATE)
                gradient_steps += 1
                trace.update_steps.append(environment_steps)
                trace.batch_rows.append(len(batch.actions))
        progress.report(environment_steps)
    stopped = watch.stop(OTHER)
    environments.close()
    return Trained(
        started=started,
        ended=stopped,
        environment_steps=environment_steps,
        gradient_steps=gradient_steps,
        episodes=episodes,
        weights=agent.state_dict(),
        trace=trace.tensors() | initial,
        logs=logs_of(environments),
        further_metrics=watch.metrics(),
        further_counts=watch.counts(),
    )


def chosen(words: frozenset[str]) -> Variant[Parameters]:
    """The training with these options."""
    return Variant(train=partial(train, watching=phases.watch_of(words)), parity=ppo.parity, library=PYTORCH)


if __name__ == "__main__":
    training.main(
        training.Algorithm(
            name="phases-ppo",
            description=__doc__,
            parameters=Parameters,
            by_hand=BY_HAND,
            variant=chosen(frozenset()),
            options=phases.OPTION,
            chosen=chosen,
        ),
        FIRST_LINE,
    )
