"""DQN's cases and constants, which all implementations of it share. They are CleanRL's at commit fe8d8a0."""

from collections.abc import Mapping
from dataclasses import dataclass

from baselines.benchmarks import training

BY_HAND: Mapping[str, str | int] = {
    "environment": "CartPole-v1",
    "steps": 500_000,
    "learning_starts": 10_000,
    "train_frequency": 10,
}

LEARNING_RATE = 2.5e-4
BUFFER_SIZE = 10_000
GAMMA = 0.99
TAU = 1.0
TARGET_NETWORK_FREQUENCY = 500
BATCH_SIZE = 128
START_EPSILON = 1.0
END_EPSILON = 0.05
EXPLORATION_FRACTION = 0.5

# Asking the clock at every step would show in the figures; at every thousandth it does not.
STEPS_BETWEEN_PROGRESS = 1000


@dataclass(frozen=True, kw_only=True)
class Parameters(training.Case):
    """The case: steps of the environment, and the steps at which gradient steps are taken."""

    steps: int
    learning_starts: int
    train_frequency: int

    def __post_init__(self) -> None:
        super().__post_init__()
        if min(self.steps, self.train_frequency) < 1 or self.learning_starts < 0:
            raise ValueError("'steps' and 'train_frequency' must be at least 1, 'learning_starts' at least 0")
