"""What the tuned and the compiled variants share: PyTorch with as little around its kernels as can be.

Their work is that of the faithful baselines, draw by draw and update by update; only the last bits of a float
may differ, where README.md says so. What each of these pieces is worth: `python3 -m baselines.tunings`.
"""

import math
import time
from collections.abc import Callable, Sequence
from typing import Any

import gymnasium as gym
import numpy as np
import torch
from gymnasium.wrappers import OrderEnforcing, PassiveEnvChecker, TimeLimit
from numpy.typing import DTypeLike, NDArray
from torch import Tensor

from baselines.replay import Batch
from baselines.training import Episode

BETA_1, BETA_2 = 0.9, 0.999


class DirectEnvironment:
    """One Gymnasium environment without a vector, checks and statistics around it; the same episodes."""

    def __init__(self, name: str) -> None:
        environment: gym.Env[Any, Any] = gym.make(name, disable_env_checker=True)
        limit = None if environment.spec is None else environment.spec.max_episode_steps
        while isinstance(environment, OrderEnforcing | PassiveEnvChecker | TimeLimit):
            environment = environment.env
        self.environment = environment
        self.limit = math.inf if limit is None else limit
        self.length = 0
        self.value = 0.0

    @property
    def observation_shape(self) -> tuple[int, ...]:
        """The shape of one observation."""
        return tuple(self.environment.observation_space.shape or ())

    def reset(self, seed: int | None = None) -> NDArray[Any]:
        """The first observation of the next episode."""
        self.length, self.value = 0, 0.0
        observation: NDArray[Any] = self.environment.reset(seed=seed)[0]
        return observation

    def step(self, action: Any) -> tuple[NDArray[Any], float, bool, bool]:
        """Observation, reward, termination, and whether the episode ended, truncation included."""
        observation, reward, terminated, truncated, _ = self.environment.step(action)
        self.length += 1
        self.value += float(reward)
        return observation, float(reward), terminated, terminated or truncated or self.length >= self.limit

    def episode(self, step: int) -> Episode:
        """The episode that ended at this step of the run."""
        return Episode(step, self.length, self.value)


class Ring:
    """The replay buffer's transitions in memory that NumPy writes to and PyTorch gathers from."""

    def __init__(
        self,
        size: int,
        observation_shape: tuple[int, ...],
        action_shape: tuple[int, ...],
        action_type: DTypeLike,
    ) -> None:
        self.observations = np.zeros((size, *observation_shape), dtype=np.float32)
        self.next_observations = np.zeros((size, *observation_shape), dtype=np.float32)
        self.actions = np.zeros((size, *action_shape), dtype=action_type)
        self.rewards = np.zeros((size, 1), dtype=np.float32)
        self.terminations = np.zeros((size, 1), dtype=np.float32)
        fields = (self.observations, self.next_observations, self.actions, self.rewards, self.terminations)
        self.tensors = tuple(torch.from_numpy(each) for each in fields)
        self.position = 0
        self.rows = 0

    def add(
        self,
        observation: NDArray[Any],
        next_observation: NDArray[Any],
        action: int | NDArray[Any],
        reward: float,
        *,
        terminated: bool,
    ) -> None:
        """Keep one transition, in place of the oldest where the ring is full."""
        at = self.position
        self.observations[at] = observation
        self.next_observations[at] = next_observation
        self.actions[at] = action
        self.rewards[at] = reward
        self.terminations[at] = terminated
        self.position = (at + 1) % len(self.rewards)
        self.rows = min(self.rows + 1, len(self.rewards))

    def latest(self) -> tuple[NDArray[np.float32], float]:
        """The next observation and the termination flag of the transition that was added last."""
        return self.next_observations[self.position - 1], float(self.terminations[self.position - 1, 0])

    def sample(self, batch_size: int) -> Batch:
        """A minibatch of copies. The index among environments, always 0, takes nothing from NumPy's generator."""
        rows = torch.from_numpy(np.random.randint(0, self.rows, size=batch_size))
        return Batch(*(each.index_select(0, rows) for each in self.tensors))


class FusedAdam:
    """The kernel of `torch.optim.Adam(fused=True)`, called without the bookkeeping around it.

    Args:
        weights: what it steps, without autograd.
        learning_rate: may be set anew at any time.
        epsilon: beside the root.
    """

    def __init__(self, weights: Sequence[Tensor], learning_rate: float, epsilon: float = 1e-8) -> None:
        self.weights = list(weights)
        self.learning_rate = learning_rate
        self.epsilon = epsilon
        self.first = [torch.zeros_like(each) for each in self.weights]
        self.second = [torch.zeros_like(each) for each in self.weights]
        self.steps = [torch.zeros(()) for _ in self.weights]

    def step(self, gradients: Sequence[Tensor]) -> None:
        """One step, in place."""
        torch._foreach_add_(self.steps, 1)
        torch._fused_adam_(
            self.weights,
            gradients,
            self.first,
            self.second,
            [],
            self.steps,
            lr=self.learning_rate,
            beta1=BETA_1,
            beta2=BETA_2,
            weight_decay=0.0,
            eps=self.epsilon,
            amsgrad=False,
            maximize=False,
        )


# Weights, first and second moments, and the coefficients of one step.
State = tuple[list[Tensor], list[Tensor], list[Tensor], Tensor]


class CompiledAdam:
    """Adam's state for a function that torch.compile makes one program of: it goes in, `adam` steps there.

    Args:
        weights: what is stepped, in place.
        learning_rate: of every step.
        epsilon: what is added to the root.
        together: how many steps such a program makes; each of them has bias corrections of its own.
    """

    def __init__(
        self, weights: Sequence[Tensor], learning_rate: float, epsilon: float = 1e-8, together: int = 1
    ) -> None:
        self.learning_rate = learning_rate
        self.steps = 0
        moments = [[torch.zeros_like(each) for each in weights] for _ in range(2)]
        self.coefficients = [np.array([0.0, 0.0, epsilon], dtype=np.float32) for _ in range(together)]
        self.states = [(list(weights), *moments, torch.from_numpy(each)) for each in self.coefficients]

    def next(self) -> State:
        """The state for one more step: its bias corrections are reckoned here, in double precision."""
        turn = self.steps % len(self.states)
        self.steps += 1
        self.coefficients[turn][0] = self.learning_rate / (1 - BETA_1**self.steps)
        self.coefficients[turn][1] = 1 / math.sqrt(1 - BETA_2**self.steps)
        return self.states[turn]


def adam(state: State, gradients: Sequence[Tensor]) -> None:
    """One step of Adam in plain operations, for torch.compile to fuse."""
    weights, firsts, seconds, (rate, correction, epsilon) = state
    for weight, gradient, first, second in zip(weights, gradients, firsts, seconds, strict=True):
        first.lerp_(gradient, 1 - BETA_1)
        second.mul_(BETA_2).addcmul_(gradient, gradient, value=1 - BETA_2)
        weight.sub_(rate * first / (second.sqrt() * correction + epsilon))


def dense(weights: Sequence[Tensor], values: Tensor, activation: Callable[[Tensor], Tensor]) -> Tensor:
    """Linear layers, weight and bias in turn, with the activation between them."""
    for index in range(0, len(weights), 2):
        if index:
            values = activation(values)
        values = torch.nn.functional.linear(values, weights[index], weights[index + 1])
    return values


def detached(parameters: Sequence[Tensor]) -> list[Tensor]:
    """The same memory without autograd: acting with it records nothing."""
    return [each.detach() for each in parameters]


def compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function as one program, or an error where it cannot be one; made at its first call."""
    result: Callable[..., Any] = torch.compile(function, fullgraph=True, dynamic=False)
    return result


def seconds_of(call: Callable[[], object]) -> float:
    """How long a call takes: that of a compiled function's first, with data to throw away."""
    start = time.perf_counter()
    call()
    return time.perf_counter() - start
