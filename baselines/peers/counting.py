"""The episodes of a training by another library, counted from outside."""

from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias

import gymnasium as gym

from baselines.benchmarks import unchecked
from baselines.benchmarks.action_log import Logged
from baselines.benchmarks.training import Episode

Recorded: TypeAlias = gym.wrappers.RecordEpisodeStatistics[Any, Any]


def recording(name: str, steps: int) -> Recorded:
    """An environment that keeps every episode of so many steps."""
    return gym.wrappers.RecordEpisodeStatistics(Logged(unchecked.maker(name)()), buffer_length=steps)


def recorded(name: str, seed: int, steps: int) -> Recorded:
    """The same for a library that resets it without a seed."""
    environment = recording(name, steps)
    environment.action_space.seed(seed)
    environment.reset(seed=seed)
    return environment


def episodes(*environments: Recorded) -> list[Episode]:
    """Every finished episode of environments that played side by side."""
    return episodes_of(
        [each.length_queue for each in environments], [each.return_queue for each in environments]
    )


def episodes_of(lengths: Sequence[Iterable[int]], returns: Sequence[Iterable[float]]) -> list[Episode]:
    """Episodes in the order in which they ended, from the lengths and returns of each environment's.

    Environments that play side by side share the count of steps: the i-th step of the first is step
    i * environments, that of the next one more.
    """
    episodes = []
    for environment, (its_lengths, its_returns) in enumerate(zip(lengths, returns, strict=True)):
        played = 0
        for length, value in zip(its_lengths, its_returns, strict=True):
            played += int(length)
            step = (played - 1) * len(lengths) + environment
            episodes.append(Episode(step, int(length), float(value)))
    return sorted(episodes)
