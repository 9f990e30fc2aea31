"""What the trainings in JAX share of their course: one thread, compiling before the clock, and what is told after it.

A training is two compiled programs, for every seed the same. One makes the first weights, buffers and episodes. The
other is the training loop.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import gymnasium as gym
import jax
import numpy as np
from numpy.typing import NDArray

from baselines.benchmarks import training
from baselines.benchmarks.action_log import ActionLog
from baselines.peers import counting, threads_jax

threads_jax.hold()
# For the environments' states; networks are f32.
jax.config.update("jax_enable_x64", True)


class Programs(NamedTuple):
    """The compiled programs of a training, and the numbers that both take along."""

    begin: Callable[..., Any]
    train: Callable[..., Any]
    numbers: Mapping[str, Any]


class Played(NamedTuple):
    """What is kept of every step of every environment."""

    actions: Any
    ended: Any
    """Whether the step ended an episode."""
    totals: Any
    """The episode's rewards up to the step."""


def compiled(begin: Callable[..., Any], train: Callable[..., Any], *arguments: Any) -> Programs:
    """Both as programs: `begin` for such arguments, whose last one is the numbers, and `train` for its result."""
    beginning = jax.jit(begin).lower(*arguments)
    state = jax.eval_shape(begin, *arguments)
    # What is trained takes its own place in memory.
    running = jax.jit(train, donate_argnums=0).lower(state, arguments[-1])
    return Programs(beginning.compile(), running.compile(), arguments[-1])


class Way(NamedTuple):
    """How an algorithm trains in JAX."""

    compiled: Callable[[Any], object]
    """Compiles the programs for parameters, once."""
    train: Callable[[Any, int], training.Trained]
    parity: Callable[[Mapping[str, NDArray[Any]], int], dict[str, NDArray[Any]]]


def main(name: str, description: str | None, work: Any, way: Way, first_line: float) -> None:
    """Serve the case asked for.

    Args:
        name: the file's, which names the folder of a run by hand.
        description: what ``--help`` says.
        work: the benchmark's module, which has the parameters.
        way: how it trains.
        first_line: ``time.perf_counter`` at the first line of the algorithm's file.
    """

    def compiling(parameters: training.Case) -> float:
        start = time.perf_counter()
        way.compiled(parameters)
        return time.perf_counter() - start

    variant = training.Variant(train=way.train, parity=way.parity, compiling=compiling)
    training.main(
        training.Algorithm(
            name=name,
            description=description,
            parameters=work.Parameters,
            by_hand=work.BY_HAND,
            variant=variant,
        ),
        first_line,
    )


def episodes(ended: NDArray[np.bool_], totals: NDArray[np.float64]) -> list[training.Episode]:
    """The episodes of (steps, environments): where each ended, and the rewards of the episode up to each step."""
    ends = [np.flatnonzero(column) for column in ended.T]
    return counting.episodes_of(
        [np.diff(each, prepend=-1).tolist() for each in ends],
        [totals[each, index].tolist() for index, each in enumerate(ends)],
    )


def logs(
    space: gym.Space[Any], actions: NDArray[Any], ended: NDArray[np.bool_], seed: int
) -> Sequence[ActionLog]:
    """The logs of environments (steps, environments, ...), the first of which began with this seed."""
    return [
        ActionLog.of(space, actions[:, index], np.flatnonzero(ended[:, index]) + 1, seed + index)
        for index in range(ended.shape[1])
    ]
