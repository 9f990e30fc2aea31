"""`phases-sac` by plain PyTorch, instrumented: the loop of `baselines/references/sac.py` with a border after each phase.

Uninstrumented it is that file itself. The statements, their order and every random draw are that file's, and a test holds
the final weights of both to be the same bytes.

By hand, from the repository's root:

    uv run --project baselines python -m baselines.references.phases_sac --phases [--seed 1] [--steps 20000]
"""

# ruff: noqa: E402 - the clock is read before the imports that take seconds.

import time
from functools import partial

FIRST_LINE = time.perf_counter()

import numpy as np
import torch

from baselines.benchmarks import phases, training
from baselines.benchmarks import sac as work
from baselines.benchmarks.action_log import logs_of
from baselines.benchmarks.phases import Layer, MakeWatch, Phase
from baselines.benchmarks.sac import Parameters
from baselines.benchmarks.training import Trained, Variant
from baselines.benchmarks.training_in_pytorch import PYTORCH
from baselines.contract import protocol
from baselines.references import sac
from baselines.references.replay_buffer import ReplayBuffer, Truncations

PHASES = (
    Phase("environment", Layer.PYTHON),
    Phase("acting", Layer.PYTORCH),
    Phase("episodes", Layer.PYTHON),
    Phase("storing", Layer.PYTHON),
    Phase("sampling", Layer.PYTHON),
    Phase("targets", Layer.PYTORCH),
    Phase("critics", Layer.PYTORCH),
    Phase("actor", Layer.PYTORCH),
    Phase("temperature", Layer.PYTORCH),
    Phase("polyak", Layer.PYTORCH),
    Phase("other", Layer.PYTHON),
)
(ENVIRONMENT, ACTING, EPISODES, STORING, SAMPLING, TARGETS, CRITICS, ACTOR, TEMPERATURE, POLYAK, OTHER) = (
    range(len(PHASES))
)


def train(  # noqa: PLR0915 - one loop, and a border is a statement
    parameters: Parameters, seed: int, *, watching: MakeWatch
) -> Trained:
    """Train an actor as `sac.train` does, and tell the watch what each moment was spent on."""
    count = parameters.environments
    environments = sac.make_environments(parameters.environment, seed, count)
    space = sac.action_space_of(environments)
    observation_shape = tuple(environments.single_observation_space.shape or ())
    networks = sac.make_networks(
        int(np.prod(observation_shape)), int(np.prod(space.shape)), parameters.hidden
    )
    bounds = sac.bounds_of(space)
    temperature = sac.Temperature(torch.zeros(1), work.target_entropy(int(np.prod(space.shape))))
    optimizers = sac.make_optimizers(networks, temperature)
    buffer = ReplayBuffer(work.BUFFER_SIZE, observation_shape, space.shape, np.float32)
    progress = protocol.Progress(total=parameters.steps, unit="environment step")
    environment_steps = gradient_steps = 0
    episodes: list[training.Episode] = []
    trace, truncated = (
        sac.Trace(buffer_capacity=[len(buffer.rewards)], hidden=sac.widths(networks)),
        Truncations(),
    )
    initial = sac.initial_bounds(networks)

    observations, _ = environments.reset(seed=seed)
    watch = watching(PHASES)
    ended = watch.ended
    started = watch.start()
    for step in range(0, parameters.steps, count):
        # Act: at random until learning starts, then as the actor does.
        if step < parameters.learning_starts:
            actions = np.array([space.sample() for _ in range(count)])
        else:
            drawn, _ = sac.sample(networks["actor"], bounds, torch.Tensor(observations))
            actions = drawn.detach().numpy()
        ended(ACTING)
        told = environments.step(actions)
        ended(ENVIRONMENT)
        environment_steps += count

        # Remember.
        episodes += training.episodes_of(told[-1], step)
        ended(EPISODES)
        sac.remember(buffer, truncated, observations, actions, told)
        observations = told[0]
        ended(STORING)

        # Learn, once for each of these steps.
        for taken in range(step, step + count):
            if taken > parameters.learning_starts:
                batch = buffer.sample(parameters.batch)
                ended(SAMPLING)
                wanted = sac.wanted_of(networks, bounds, batch, temperature.alpha)
                ended(TARGETS)
                sac.fit_critics(networks, optimizers.critics, batch, wanted)
                ended(CRITICS)
                gradient_steps += 1
                trace.update_steps.append(taken)
                trace.buffer_rows.append(len(buffer))
                trace.batch_rows.append(len(batch.actions))
                if taken % work.POLICY_FREQUENCY == 0:
                    for _ in range(work.POLICY_FREQUENCY):
                        given = batch.observations
                        ended(OTHER)
                        sac.update_actor(networks, bounds, optimizers.actor, given, temperature.alpha)
                        ended(ACTOR)
                        trace.policy_steps.append(taken)
                        sac.update_temperature(networks, bounds, optimizers.temperature, given, temperature)
                        ended(TEMPERATURE)
                ended(OTHER)
                if taken % work.TARGET_NETWORK_FREQUENCY == 0:
                    sac.move_targets(networks)
                    ended(POLYAK)
                    trace.target_steps.append(taken)

        if step % work.STEPS_BETWEEN_PROGRESS == 0:
            progress.report(step)
        ended(OTHER)
    stopped = watch.stop(OTHER)
    environments.close()
    return Trained(
        started=started,
        ended=stopped,
        environment_steps=environment_steps,
        gradient_steps=gradient_steps,
        episodes=episodes,
        weights=networks.state_dict() | {"log_alpha": temperature.log_alpha},
        trace=trace.tensors() | truncated.tensors() | initial,
        logs=logs_of(environments),
        further_metrics=watch.metrics(),
        further_counts=watch.counts(),
    )


def chosen(words: frozenset[str]) -> Variant[Parameters]:
    """The training with these options."""
    return Variant(train=partial(train, watching=phases.watch_of(words)), parity=sac.parity, library=PYTORCH)


if __name__ == "__main__":
    training.main(
        training.Algorithm(
            name="phases-sac",
            description=__doc__,
            parameters=Parameters,
            by_hand=work.BY_HAND,
            variant=chosen(frozenset()),
            options=phases.OPTION,
            chosen=chosen,
        ),
        FIRST_LINE,
    )
