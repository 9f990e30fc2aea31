"""`phases-sac`: SAC whose environment and replay buffer are our module's, and whose networks and updates are PyTorch's.

It is built as rlox's profiling report (2026-03-28) describes its own trainer: one environment, one transition pushed and
one minibatch drawn a step, targets moved tensor by tensor in a loop of Python. That trainer stepped Gymnasium's
environment; this one steps our module's, whose episodes are the same to the bit. An option is one of its recommendations,
and so is a case of several environments.
Networks, constants and the order of updates are the reference's (`baselines/references/sac.py`).

By hand, from the repository's root:

    uv run --project baselines python -m baselines.ours.phases_sac_torchforge [--phases] [--foreach] [--compiled]
"""

# ruff: noqa: E402 - the clock is read before the imports that take seconds.

import time
from collections.abc import Callable
from functools import partial
from typing import Protocol

FIRST_LINE = time.perf_counter()

import gymnasium as gym
import numpy as np
import torch
import torchforge
from numpy.typing import NDArray
from torch import Tensor, nn

from baselines.benchmarks import phases, training
from baselines.benchmarks import sac as work
from baselines.benchmarks.phases import MakeWatch
from baselines.benchmarks.sac import Parameters
from baselines.benchmarks.training import Trained, Variant
from baselines.benchmarks.training_in_pytorch import PYTORCH
from baselines.contract import protocol
from baselines.ours.phases_sac_collecting import (
    ACTOR,
    CONVERSION,
    CRITICS,
    OTHER,
    PHASES,
    POLYAK,
    SAMPLING,
    TARGETS,
    TEMPERATURE,
    Collector,
    OneByOne,
    Together,
)
from baselines.ours.phases_sac_compiled import Programs, parity
from baselines.references import sac
from baselines.references.replay_buffer import Batch

OPTIONS = phases.OPTION | {
    "foreach": "move all targets by one call of PyTorch's foreach functions",
    "compiled": "all networks by torch.compile while learning; needs g++ and the headers of Python and PyTorch",
}

Move = Callable[[nn.ModuleDict], None]
ReadField = Callable[[torchforge.Minibatch, str], NDArray[np.float32]]


def move_by_foreach(networks: nn.ModuleDict) -> None:
    """Move the target critics a little towards the critics, all tensors in one call."""
    targets = [each for name in work.CRITICS for each in networks[f"{name}_target"].parameters()]
    critics = [each for name in work.CRITICS for each in networks[name].parameters()]
    with torch.no_grad():
        torch._foreach_lerp_(targets, critics, work.TAU)


def batch_of(minibatch: torchforge.Minibatch, read: ReadField = getattr) -> Batch:
    """The minibatch as tensors over the same memory; each field is a call of our module."""
    return Batch(
        observations=torch.from_numpy(read(minibatch, "observations")),
        next_observations=torch.from_numpy(read(minibatch, "next_observations")),
        actions=torch.from_numpy(read(minibatch, "actions")),
        rewards=torch.from_numpy(read(minibatch, "rewards")),
        terminations=torch.from_numpy(read(minibatch, "terminated")),
    )


class Updates(Protocol):
    """The gradient steps of a training: the functions of the reference's module, or compiled ones."""

    wanted_of: Callable[..., Tensor]
    fit_critics: Callable[..., Tensor]
    update_actor: Callable[..., Tensor]
    update_temperature: Callable[..., Tensor]


def train(  # noqa: PLR0915 - one loop, and a border is a statement
    parameters: Parameters, seed: int, *, watching: MakeWatch, updates: Updates, move: Move
) -> Trained:
    """Train an actor; every count is taken beside the call that it counts.

    Args:
        parameters: the case's.
        seed: of the first environment, the next ones counting on, of the action space and of the buffer's draws; that of
            networks and noise is PyTorch's own.
        watching: makes the watch.
        updates: the gradient steps.
        move: moves the targets.
    """
    with gym.make(parameters.environment) as one:
        observation_shape = tuple(one.observation_space.shape or ())
        space = one.action_space
    if not isinstance(space, gym.spaces.Box):
        protocol.refuse(f"this SAC needs continuous actions, not {space}; name another environment")
    space.seed(seed)
    width, action_width = int(np.prod(observation_shape)), int(np.prod(space.shape))
    networks = sac.make_networks(width, action_width, parameters.hidden)
    bounds = sac.bounds_of(space)
    temperature = sac.Temperature(torch.zeros(1), work.target_entropy(action_width))
    optimizers = sac.make_optimizers(networks, temperature)
    buffer = torchforge.ReplayBuffer(work.BUFFER_SIZE, width, action_width, seed=seed)
    progress = protocol.Progress(total=parameters.steps, unit="environment step")
    gradient_steps = 0
    trace = sac.Trace(buffer_capacity=[buffer.capacity], hidden=sac.widths(networks))
    initial = sac.initial_bounds(networks)

    watch = watching(PHASES)
    count = parameters.environments
    collector: Collector = (OneByOne if count == 1 else Together)(parameters, space, buffer, watch)
    draw = watch.crossing("sample", buffer.sample)
    read: ReadField = watch.crossing("minibatch_field", getattr)
    stored_count = watch.crossing("length", buffer.__len__)
    ended = watch.ended
    collector.reset(seed)
    started = watch.start()
    for step in range(0, parameters.steps, count):
        collector.collect(step, networks["actor"] if step >= parameters.learning_starts else None)

        # Learn, once for each of these steps.
        for taken in range(step, step + count):
            if taken > parameters.learning_starts:
                minibatch = draw(parameters.batch)
                ended(SAMPLING)
                batch = batch_of(minibatch, read)
                ended(CONVERSION)
                wanted = updates.wanted_of(networks, bounds, batch, temperature.alpha)
                ended(TARGETS)
                updates.fit_critics(networks, optimizers.critics, batch, wanted)
                ended(CRITICS)
                gradient_steps += 1
                trace.update_steps.append(taken)
                trace.buffer_rows.append(stored_count())
                trace.batch_rows.append(len(batch.actions))
                if taken % work.POLICY_FREQUENCY == 0:
                    for _ in range(work.POLICY_FREQUENCY):
                        given = batch.observations
                        ended(OTHER)
                        updates.update_actor(networks, bounds, optimizers.actor, given, temperature.alpha)
                        ended(ACTOR)
                        trace.policy_steps.append(taken)
                        updates.update_temperature(
                            networks, bounds, optimizers.temperature, given, temperature
                        )
                        ended(TEMPERATURE)
                ended(OTHER)
                if taken % work.TARGET_NETWORK_FREQUENCY == 0:
                    move(networks)
                    ended(POLYAK)
                    trace.target_steps.append(taken)

        if step % work.STEPS_BETWEEN_PROGRESS == 0:
            progress.report(step)
        ended(OTHER)
    stopped = watch.stop(OTHER)
    return Trained(
        started=started,
        ended=stopped,
        environment_steps=collector.environment_steps,
        gradient_steps=gradient_steps,
        episodes=collector.finished(),
        weights=networks.state_dict() | {"log_alpha": temperature.log_alpha},
        trace=trace.tensors() | collector.truncated.tensors() | initial,
        logs=collector.logs(seed),
        further_metrics=watch.metrics(),
        further_counts=watch.counts(),
    )


def compiling(parameters: Parameters, programs: Programs) -> float:
    """Compile what the training calls, with networks and a minibatch to throw away; the seconds."""
    start = time.perf_counter()
    with gym.make(parameters.environment) as one:
        width = int(np.prod(one.observation_space.shape or ()))
        space = one.action_space
    if not isinstance(space, gym.spaces.Box):
        protocol.refuse(f"this SAC needs continuous actions, not {space}; name another environment")
    action_width = int(np.prod(space.shape))
    networks, bounds = sac.make_networks(width, action_width, parameters.hidden), sac.bounds_of(space)
    temperature = sac.Temperature(torch.zeros(1), work.target_entropy(action_width))
    optimizers = sac.make_optimizers(networks, temperature)
    # A program is of the shapes that it was made with, and those are what a buffer gives.
    buffer = torchforge.ReplayBuffer(1, width, action_width)
    seen, action = np.zeros(width, np.float32), np.zeros(action_width, np.float32)
    buffer.push(seen, seen, action, 0.0, False, False)
    batch = batch_of(buffer.sample(parameters.batch))
    critics, actor, of_temperature = programs.steps
    critics(networks, bounds, optimizers.critics, batch, temperature.alpha)
    actor(networks, bounds, optimizers.actor, batch.observations, temperature.alpha)
    of_temperature(networks, bounds, optimizers.temperature, batch.observations, temperature)
    return time.perf_counter() - start


def chosen(words: frozenset[str]) -> Variant[Parameters]:
    """The training with these options."""
    move = move_by_foreach if "foreach" in words else sac.move_targets
    trained = partial(train, watching=phases.watch_of(words), move=move)
    if "compiled" not in words:
        plain: Updates = sac
        return Variant(
            train=partial(trained, updates=plain), parity=partial(sac.parity, move=move), library=PYTORCH
        )
    programs = Programs()
    return Variant(
        train=partial(trained, updates=programs),
        parity=partial(parity, move=move, programs=programs),
        compiling=partial(compiling, programs=programs),
        library=PYTORCH,
    )


if __name__ == "__main__":
    training.main(
        training.Algorithm(
            name="phases-sac-torchforge",
            description=__doc__,
            parameters=Parameters,
            by_hand=work.BY_HAND,
            variant=chosen(frozenset()),
            options=OPTIONS,
            chosen=chosen,
        ),
        FIRST_LINE,
    )
