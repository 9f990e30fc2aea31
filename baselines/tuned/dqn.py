"""DQN as fast as PyTorch does it: the work of `baselines/references/dqn.py`, by eager PyTorch or with --compile.

It acts by NumPy with PyTorch's weights, because that is faster (`few_rows`).

By hand, from the repository's root:

    uv run --project baselines python -m baselines.tuned.dqn [--seed 1] [--steps 500000] [--compile]
"""

# ruff: noqa: E402 - the clock is read before the imports that take seconds.

import random
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial

FIRST_LINE = time.perf_counter()

import gymnasium as gym
import numpy as np
import torch
from torch import Tensor, nn

from baselines.benchmarks import dqn as work
from baselines.benchmarks import training
from baselines.benchmarks.training import Trained, Variant
from baselines.benchmarks.training_in_pytorch import PYTORCH
from baselines.contract import protocol
from baselines.references import dqn
from baselines.references.replay_buffer import Batch, Truncations
from baselines.tuned.adam import CompiledAdam, FusedAdam, adam
from baselines.tuned.compiling import compiled, seconds_of, unguarded
from baselines.tuned.direct_environment import DirectEnvironment
from baselines.tuned.few_rows import FewRows, Floats, relu
from baselines.tuned.networks import dense, detached
from baselines.tuned.ring import Ring


def loss_of(online: Sequence[Tensor], target: Sequence[Tensor], batch: Batch) -> Tensor:
    """The mean squared temporal-difference error."""
    next_values = dense(target, batch.next_observations, torch.relu).amax(dim=1)
    wanted = batch.rewards.view(-1) + work.GAMMA * next_values * (1 - batch.terminations.view(-1))
    values = dense(online, batch.observations, torch.relu).gather(1, batch.actions).view(-1)
    return nn.functional.mse_loss(values, wanted)


class Learner:
    """An online and a target network, and updates of the one."""

    def __init__(self, online: nn.Sequential, target: nn.Sequential) -> None:
        self.parameters = list(online.parameters())
        self.online = detached(self.parameters)
        self.target = detached(list(target.parameters()))
        self.optimizer = FusedAdam(self.online, work.LEARNING_RATE)
        self.values = FewRows([each.numpy() for each in self.online], relu)

    def update(self, batch: Batch) -> tuple[Tensor, Sequence[Tensor]]:
        """One gradient step: the loss, and the gradients in the parameters' order."""
        loss = loss_of(self.parameters, self.target, batch)
        gradients = torch.autograd.grad(loss, self.parameters)
        self.optimizer.step(gradients)
        return loss.detach(), gradients

    def act(self, observation: Floats) -> int:
        """The greedy action for an observation (n,)."""
        return int(self.values(observation).argmax())

    def copy_weights(self) -> None:
        """Move the target network to the online one: tau is 1."""
        torch._foreach_copy_(self.target, self.online)


class CompiledLearner(Learner):
    """The same, with loss, gradients and Adam in one compiled program."""

    def __init__(self, online: nn.Sequential, target: nn.Sequential) -> None:
        super().__init__(online, target)
        self.adam = CompiledAdam(self.online, work.LEARNING_RATE)

    def update(self, batch: Batch) -> tuple[Tensor, Sequence[Tensor]]:
        """One gradient step: the loss, and the gradients in the parameters' order."""
        loss, gradients = compiled_update(self.adam.next(), self.target, batch)
        return loss, gradients


@compiled
def compiled_update(
    state: tuple[list[Tensor], list[Tensor], list[Tensor], Tensor], target: list[Tensor], batch: Batch
) -> tuple[Tensor, Sequence[Tensor]]:
    """One gradient step, in place."""
    gradients, loss = torch.func.grad_and_value(loss_of)(state[0], target, batch)
    adam(state, gradients)
    return loss, gradients


def train(make_learner: type[Learner], parameters: work.Parameters, seed: int) -> Trained:
    """As `dqn.train`: the same draws in the same order."""
    environment = DirectEnvironment(parameters.environment)
    space = environment.environment.action_space
    if not isinstance(space, gym.spaces.Discrete):
        protocol.refuse(f"DQN needs discrete actions, not {space}; name another environment")
    space.seed(seed)
    sizes = (*environment.observation_shape, int(space.n))
    online, target = dqn.make_network(*sizes), dqn.make_network(*sizes)
    target.load_state_dict(online.state_dict())
    bounds = dqn.initial_bounds(online)
    learner = make_learner(online, target)
    ring = Ring(work.BUFFER_SIZE, environment.observation_shape, (1,), np.int64)
    progress = protocol.Progress(total=parameters.steps, unit="environment step")
    exploration = work.EXPLORATION_FRACTION * parameters.steps
    environment_steps = gradient_steps = 0
    episodes: list[training.Episode] = []
    trace, truncated = dqn.Trace(), Truncations()

    # Not before the environment is made: NumPy would warn of numbers that are zero now.
    torch.set_flush_denormal(True)
    observation = environment.reset(seed)
    started = time.perf_counter()
    for step in range(parameters.steps):
        epsilon = dqn.linear_schedule(work.START_EPSILON, work.END_EPSILON, exploration, step)
        explores = random.random() < epsilon
        action = int(space.sample()) if explores else learner.act(observation)
        next_observation, reward, terminated, ended = environment.step(action)
        environment_steps += 1
        ring.add(observation, next_observation, action, reward, terminated=terminated)
        observation = next_observation
        if ended:
            if not terminated:
                truncated.note(ring.latest(), next_observation)
            episodes.append(environment.episode(step))
            observation = environment.reset()

        if step > parameters.learning_starts:
            if step % parameters.train_frequency == 0:
                batch = ring.sample(work.BATCH_SIZE)
                learner.update(batch)
                gradient_steps += 1
                trace.update_steps.append(step)
                trace.epsilon.append(epsilon)
                trace.buffer_rows.append(ring.rows)
                trace.batch_rows.append(len(batch.actions))
            if step % work.TARGET_NETWORK_FREQUENCY == 0:
                learner.copy_weights()
                trace.copy_steps.append(step)
                trace.copy_remainder.append(dqn.distance(online, target))

        if step % work.STEPS_BETWEEN_PROGRESS == 0:
            progress.report(step)
    return Trained(
        started=started,
        ended=time.perf_counter(),
        environment_steps=environment_steps,
        gradient_steps=gradient_steps,
        episodes=episodes,
        weights=online.state_dict(),
        trace=trace.tensors() | truncated.tensors() | bounds,
        logs=[environment.log],
    )


def compiling(parameters: work.Parameters) -> float:
    """The seconds to compile an update, with a minibatch of nothing and networks to throw away."""
    environments = dqn.make_environments(parameters.environment, 0)
    inputs, actions = dqn.observation_shape(environments)[0], dqn.action_count(environments)
    learner = CompiledLearner(dqn.make_network(inputs, actions), dqn.make_network(inputs, actions))
    nothing, flags = torch.zeros(work.BATCH_SIZE, inputs), torch.zeros(work.BATCH_SIZE, 1)
    batch = Batch(nothing, nothing.clone(), flags.long(), flags, flags.clone())
    return seconds_of(lambda: learner.update(batch))


def parity(
    make_learner: Callable[[nn.Sequential, nn.Sequential], Learner],
    given: Mapping[str, Tensor],
    updates: int,
) -> dict[str, Tensor]:
    """As `dqn.parity`, without `exact.*`."""
    online, target = (dqn.given_network(given, name) for name in ("online", "target"))
    names = [name for name, _ in online.named_parameters()]
    learner = make_learner(online, target)
    result = {}
    for index in range(updates):
        loss, gradients = learner.update(dqn.given_batch(given, index))
        if index == 0:
            result["loss"] = loss
            for name, gradient, weight in zip(names, gradients, learner.online, strict=True):
                result[f"gradient.{name}"] = gradient.clone()
                result[f"parameter.{name}"] = weight.clone()
    return result | {f"after.{name}": weight for name, weight in zip(names, learner.online, strict=True)}


def variant(
    kind: type[Learner], compiling: Callable[[work.Parameters], float] | None = None
) -> Variant[work.Parameters]:
    """The variant of a learner, and what compiles it."""
    trained = partial(train, kind)
    return Variant(
        train=trained if compiling is None else unguarded(trained),
        parity=lambda given, updates: parity(kind, given, updates),
        compiling=compiling,
        library=PYTORCH,
    )


EAGER = variant(Learner)
COMPILED = variant(CompiledLearner, compiling)


if __name__ == "__main__":
    training.main(
        training.Algorithm(
            name="dqn-tuned",
            description=__doc__,
            parameters=work.Parameters,
            by_hand=work.BY_HAND,
            variant=EAGER,
            compiled=COMPILED,
        ),
        FIRST_LINE,
    )
