"""DQN (Mnih et al., 2015) on CartPole-v1, Acrobot-v1 or MountainCar-v0: the reference of the benchmark `dqn`.

Our own code after the algorithm of CleanRL's dqn.py at commit fe8d8a0, faithful in every constant and in the
order of every random draw: with the same seed and the same PyTorch it plays CleanRL's episodes, one by one.
It leaves out CleanRL's logging (TensorBoard, prints) and, on top, counts and remembers the episodes. Nothing
of the work is done another way than there, acting with autograd on included.

By hand, from the repository's root:

    uv run --project baselines python -m baselines.references.dqn [--seed 1] [--steps 500000]
"""

# ruff: noqa: E402 - the clock is read before the imports that take seconds.

import random
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

FIRST_LINE = time.perf_counter()

import gymnasium as gym
import numpy as np
import torch
from gymnasium.vector import AutoresetMode, SyncVectorEnv, VectorEnv
from torch import Tensor, nn

from baselines.benchmarks import training, training_in_pytorch
from baselines.benchmarks.action_log import Logged, logs_of
from baselines.benchmarks.dqn import (
    BATCH_SIZE,
    BUFFER_SIZE,
    BY_HAND,
    END_EPSILON,
    EXPLORATION_FRACTION,
    GAMMA,
    LEARNING_RATE,
    START_EPSILON,
    STEPS_BETWEEN_PROGRESS,
    TARGET_NETWORK_FREQUENCY,
    TAU,
    Parameters,
)
from baselines.benchmarks.training import Trained, Variant
from baselines.contract import protocol
from baselines.references.replay_buffer import Batch, ReplayBuffer, Truncations


def make_environments(name: str, seed: int) -> VectorEnv[Any, Any, Any]:
    """One environment as a vector of one, beginning the next episode in the step that ends the last."""

    def make() -> gym.Env[Any, Any]:
        environment = gym.wrappers.RecordEpisodeStatistics(Logged(gym.make(name)))
        environment.action_space.seed(seed)
        return environment

    return SyncVectorEnv([make], autoreset_mode=AutoresetMode.SAME_STEP)


def observation_shape(environments: VectorEnv[Any, Any, Any]) -> tuple[int, ...]:
    """The shape of one observation: (4,) on CartPole."""
    return tuple(environments.single_observation_space.shape or ())


def action_count(environments: VectorEnv[Any, Any, Any]) -> int:
    """How many discrete actions there are."""
    space = environments.single_action_space
    if not isinstance(space, gym.spaces.Discrete):
        protocol.refuse(f"DQN needs discrete actions, not {space}; name another environment")
    return int(space.n)


def make_network(inputs: int, outputs: int, *, hidden: tuple[int, int] = (120, 84)) -> nn.Sequential:
    """The Q network: observations (n, inputs) to one value per action (n, outputs)."""
    first, second = hidden
    return nn.Sequential(
        nn.Linear(inputs, first),
        nn.ReLU(),
        nn.Linear(first, second),
        nn.ReLU(),
        nn.Linear(second, outputs),
    )


def make_optimizer(online: nn.Sequential) -> torch.optim.Adam:
    """Adam with PyTorch's own defaults: betas 0.9 and 0.999, eps 1e-8."""
    return torch.optim.Adam(online.parameters(), lr=LEARNING_RATE)


def linear_schedule(start: float, end: float, duration: float, step: int) -> float:
    """Epsilon at a step: from start to end in a straight line over the duration, then end."""
    return max((end - start) / duration * step + start, end)


def update(online: nn.Sequential, target: nn.Sequential, optimizer: torch.optim.Adam, batch: Batch) -> Tensor:
    """One gradient step on the squared temporal-difference error; bootstrapping stops at termination only."""
    with torch.no_grad():
        next_values, _ = target(batch.next_observations).max(dim=1)
        wanted = batch.rewards.flatten() + GAMMA * next_values * (1 - batch.terminations.flatten())
    values = online(batch.observations).gather(1, batch.actions).squeeze()
    loss = nn.functional.mse_loss(wanted, values)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss


def copy_weights(online: nn.Sequential, target: nn.Sequential) -> None:
    """Move the target network to the online one: a soft update whose tau of 1 makes it a hard copy."""
    for target_parameter, parameter in zip(target.parameters(), online.parameters(), strict=True):
        target_parameter.data.copy_(TAU * parameter.data + (1.0 - TAU) * target_parameter.data)


def distance(online: nn.Sequential, target: nn.Sequential) -> float:
    """The largest difference between two networks' weights."""
    with torch.no_grad():
        pairs = zip(online.parameters(), target.parameters(), strict=True)
        return max(float((one - other).abs().max()) for one, other in pairs)


@dataclass
class Trace:
    """What the run says about itself: which step did what, taken down where it was done."""

    update_steps: list[int] = field(default_factory=list)
    epsilon: list[float] = field(default_factory=list)
    copy_steps: list[int] = field(default_factory=list)
    copy_remainder: list[float] = field(default_factory=list)
    buffer_rows: list[int] = field(default_factory=list)
    batch_rows: list[int] = field(default_factory=list)

    def tensors(self) -> dict[str, Tensor]:
        """The trace as it is written: whole numbers i64, epsilon f64, what a copy leaves over f32."""
        return {
            "update_steps": training_in_pytorch.integers(self.update_steps),
            "epsilon": torch.tensor(self.epsilon, dtype=torch.float64),
            "copy_steps": training_in_pytorch.integers(self.copy_steps),
            "copy_remainder": torch.tensor(self.copy_remainder, dtype=torch.float32),
            "buffer_rows": training_in_pytorch.integers(self.buffer_rows),
            "batch_rows": training_in_pytorch.integers(self.batch_rows),
        }


def initial_bounds(online: nn.Sequential) -> dict[str, Tensor]:
    """How far the first weights reach, for the trace."""
    return {
        f"initial.{name}.bound": training_in_pytorch.weight_bound(parameter)
        for name, parameter in online.named_parameters()
        if name.endswith("weight")
    }


def train(parameters: Parameters, seed: int) -> Trained:
    """Train an online network; every count is taken beside the call that it counts.

    Args:
        parameters: the case's.
        seed: of the environment and its action space; that of the networks is PyTorch's own.
    """
    environments = make_environments(parameters.environment, seed)
    sizes = (*observation_shape(environments), action_count(environments))
    online = make_network(*sizes)
    optimizer = make_optimizer(online)
    target = make_network(*sizes)
    target.load_state_dict(online.state_dict())
    buffer = ReplayBuffer(BUFFER_SIZE, observation_shape(environments), (1,), np.int64)
    progress = protocol.Progress(total=parameters.steps, unit="environment step")
    exploration = EXPLORATION_FRACTION * parameters.steps
    environment_steps = gradient_steps = 0
    episodes: list[training.Episode] = []
    trace, truncated = Trace(), Truncations()
    bounds = initial_bounds(online)

    observations, _ = environments.reset(seed=seed)
    started = time.perf_counter()
    for step in range(parameters.steps):
        # Act: at random with probability epsilon, else greedily.
        epsilon = linear_schedule(START_EPSILON, END_EPSILON, exploration, step)
        if random.random() < epsilon:
            actions = np.array([environments.single_action_space.sample()])
        else:
            actions = torch.argmax(online(torch.Tensor(observations)), dim=1).numpy()
        next_observations, rewards, terminations, truncations, infos = environments.step(actions)
        environment_steps += 1

        # Remember. After a truncation the environment has begun anew and keeps its last observation apart.
        episodes += training.episodes_of(infos, step)
        real_next_observations = next_observations.copy()
        if truncations[0]:
            real_next_observations[0] = infos["final_obs"][0]
        buffer.add(observations, real_next_observations, actions, rewards, terminations)
        if truncations[0] and not terminations[0]:
            truncated.note(buffer.latest(), infos["final_obs"][0])
        observations = next_observations

        # Learn.
        if step > parameters.learning_starts:
            if step % parameters.train_frequency == 0:
                batch = buffer.sample(BATCH_SIZE)
                update(online, target, optimizer, batch)
                gradient_steps += 1
                trace.update_steps.append(step)
                trace.epsilon.append(epsilon)
                trace.buffer_rows.append(len(buffer))
                trace.batch_rows.append(len(batch.actions))
            if step % TARGET_NETWORK_FREQUENCY == 0:
                copy_weights(online, target)
                trace.copy_steps.append(step)
                trace.copy_remainder.append(distance(online, target))

        if step % STEPS_BETWEEN_PROGRESS == 0:
            progress.report(step)
    ended = time.perf_counter()
    environments.close()
    return Trained(
        started=started,
        ended=ended,
        environment_steps=environment_steps,
        gradient_steps=gradient_steps,
        episodes=episodes,
        weights=online.state_dict(),
        trace=trace.tensors() | truncated.tensors() | bounds,
        logs=logs_of(environments),
    )


def parity(given: Mapping[str, Tensor], updates: int) -> dict[str, Tensor]:
    """Consecutive updates from given weights and given minibatches, through the very function that training uses.

    Raises:
        RuntimeError: the given networks have other sizes than the training's.
    """
    weights = training.layers(given, "online")
    make_network(weights["0.weight"].shape[1], weights["4.weight"].shape[0]).load_state_dict(weights)
    return parity_at_any_size(given, updates)


def parity_at_any_size(given: Mapping[str, Tensor], updates: int) -> dict[str, Tensor]:
    """`parity` of networks of the sizes that are given, for the benchmarks of networks.

    Args:
        given: `online.*` and `target.*` weights under PyTorch's names, and 100 minibatches.
        updates: how many of them are taken.

    Returns:
        Of the first update `loss` (), `gradient.*` and, after one Adam step from fresh moments, `parameter.*`;
        `after.*`, the parameters after all of them; `exact.*`, the same in double precision.
    """
    result = consecutive_updates(given, updates)
    exact = consecutive_updates(training_in_pytorch.in_double_precision(given), updates)
    return training_in_pytorch.with_exact(result, exact)


def consecutive_updates(given: Mapping[str, Tensor], updates: int) -> dict[str, Tensor]:
    """What `parity` returns but `exact.*`, in the precision of the data given."""
    online, target = (given_network(given, name) for name in ("online", "target"))
    optimizer = make_optimizer(online)
    result = {}
    for index in range(updates):
        loss = update(online, target, optimizer, given_batch(given, index))
        if index == 0:
            result["loss"] = loss.detach()
            for name, parameter in online.named_parameters():
                result[f"gradient.{name}"] = parameter.grad.clone()
                result[f"parameter.{name}"] = parameter.detach().clone()
    return result | {f"after.{name}": parameter.detach() for name, parameter in online.named_parameters()}


def given_network(given: Mapping[str, Tensor], name: str) -> nn.Sequential:
    """A network with the input file's weights, in their precision."""
    weights = training.layers(given, name)
    (first, inputs), (outputs, second) = weights["0.weight"].shape, weights["4.weight"].shape
    network = make_network(inputs, outputs, hidden=(first, second))
    network.to(weights["0.weight"].dtype).load_state_dict(weights)
    return network


def given_batch(given: Mapping[str, Tensor], index: int) -> Batch:
    """One minibatch of the input file."""
    return Batch(
        observations=given["observations"][index],
        next_observations=given["next_observations"][index],
        actions=given["actions"][index].reshape(-1, 1),
        rewards=given["rewards"][index].reshape(-1, 1),
        terminations=given["terminations"][index].reshape(-1, 1),
    )


if __name__ == "__main__":
    training.main(
        training.Algorithm(
            name="dqn",
            description=__doc__,
            parameters=Parameters,
            by_hand=BY_HAND,
            variant=Variant(train=train, parity=parity, library=training_in_pytorch.PYTORCH),
        ),
        FIRST_LINE,
    )
