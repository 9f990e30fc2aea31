"""`env-single` by rlox 1.2.0: its `CartPole` in Rust. It draws resets with a generator of its own."""

from collections.abc import Sequence
from typing import Any

import rlox

from baselines.benchmarks import env_step
from baselines.contract import protocol


class Single:
    """Its environment by Gymnasium's interface, for what is not timed."""

    def __init__(self) -> None:
        self.environment = rlox.CartPole(seed=0)

    def reset(self, *, seed: int | None = None) -> tuple[Any, dict[str, Any]]:
        """Begin an episode."""
        return self.environment.reset(seed), {}

    def step(self, action: Any, /) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        """Take an action."""
        found = self.environment.step(action)
        return found["obs"], found["reward"], found["terminated"], found["truncated"], {}


def make(_: env_step.Parameters) -> Single:
    """One environment."""
    return Single()


def all_steps(single: Single, actions: Sequence[int]) -> Any:
    """All steps by its own interface; returns the last observation. This is what is timed."""
    environment = single.environment
    for action in actions:
        found = environment.step(action)
        if found["terminated"] or found["truncated"]:
            environment.reset()
    return found["obs"]


if __name__ == "__main__":
    env_step.run(protocol.parser(__doc__).parse_args(), make, all_steps)
