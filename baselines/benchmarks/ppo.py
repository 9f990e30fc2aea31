"""PPO's cases and constants, which all implementations of it share. They are CleanRL's at commit fe8d8a0."""

from collections.abc import Mapping
from dataclasses import dataclass

from baselines.benchmarks import training

BY_HAND: Mapping[str, str | int] = {
    "environment": "CartPole-v1",
    "environments": 4,
    "rollout_steps": 128,
    "minibatches": 4,
    "epochs": 4,
    "iterations": 976,
}

LEARNING_RATE = 2.5e-4
ADAM_EPSILON = 1e-5
GAMMA = 0.99
GAE_LAMBDA = 0.95
CLIP = 0.2
ENTROPY_COEFFICIENT = 0.01
VALUE_COEFFICIENT = 0.5
GRADIENT_NORM = 0.5
ADVANTAGE_EPSILON = 1e-8


@dataclass(frozen=True, kw_only=True)
class Parameters(training.Case):
    """The case: how long a rollout is, and how it is learned from."""

    environments: int
    rollout_steps: int
    minibatches: int
    epochs: int
    iterations: int

    def __post_init__(self) -> None:
        super().__post_init__()
        if min(self.environments, self.rollout_steps, self.minibatches, self.epochs, self.iterations) < 1:
            raise ValueError("every number must be at least 1")
        if self.rollout_rows % self.minibatches:
            raise ValueError(f"'minibatches' must divide a rollout's {self.rollout_rows} steps")

    @property
    def rollout_rows(self) -> int:
        """Steps of all environments in one rollout."""
        return self.environments * self.rollout_steps
