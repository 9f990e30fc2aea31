"""SAC's cases and constants, which all implementations of it share. They are CleanRL's at commit fe8d8a0."""

from collections.abc import Mapping
from dataclasses import dataclass

from baselines.benchmarks import training

BY_HAND: Mapping[str, str | int] = {
    "environment": "Pendulum-v1",
    "steps": 20_000,
    "learning_starts": 1000,
    "batch": 256,
}

POLICY_LEARNING_RATE = 3e-4
CRITIC_LEARNING_RATE = 1e-3
ALPHA_LEARNING_RATE = 1e-3
BUFFER_SIZE = 1_000_000
GAMMA = 0.99
TAU = 0.005
POLICY_FREQUENCY = 2
TARGET_NETWORK_FREQUENCY = 1
LOG_STD_MIN = -5.0
LOG_STD_MAX = 2.0
HIDDEN = 256
LOG_EPSILON = 1e-6

# Pendulum's largest torque: what the parity updates scale actions by.
PARITY_SCALE = 2.0

CRITICS = ("qf1", "qf2")

# Asking the clock at every step would show in the figures; at every hundredth it does not.
STEPS_BETWEEN_PROGRESS = 100


@dataclass(frozen=True, kw_only=True)
class Parameters(training.Case):
    """The case: steps of all environments, the step that learning starts after, rows of a minibatch, and width."""

    steps: int
    learning_starts: int
    batch: int
    environments: int = 1
    """They take their steps together, and as many updates follow as there are environments."""
    hidden: int = HIDDEN
    """Numbers in each of a network's two hidden layers."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if min(self.steps, self.batch, self.environments, self.hidden) < 1 or self.learning_starts < 0:
            raise ValueError(
                "'steps', 'batch', 'environments' and 'hidden' must be at least 1, 'learning_starts' at least 0"
            )
        if self.steps % self.environments:
            raise ValueError(f"'steps' must be a multiple of the {self.environments} environments")


def target_entropy(actions: int) -> float:
    """What the temperature holds the entropy near: one nat below that of a unit interval for each action."""
    return -float(actions)
