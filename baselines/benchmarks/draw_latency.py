"""The course of `draw-latency`: how long a learner waits for a single minibatch.

Ring, files and gate are those of `buffer-sample`. A call is one draw, and the clock is read after each. Beside the
seconds of a call a launch says the figures of `latencies.py`, of all draws of a round.
"""

import time
from array import array
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from baselines.benchmarks import latencies
from baselines.benchmarks.covered import Answered, Asked
from baselines.contract.operation import Operation


class Clocked(NamedTuple):
    """What a repetition drew, and the clock in nanoseconds before the first draw and after each."""

    draws: Answered
    nanoseconds: Sequence[int]


def each_draw(draws: Operation[Asked, Answered], draw: Callable[[int], Any]) -> Operation[Asked, Clocked]:
    """The draws of a case, each of which has a seed, with a reading of the clock before them and one after each."""

    def run(asked: Asked) -> Clocked:
        batches: list[Any] = []
        # A round keeps them for its figures. Lists would need five times the memory.
        readings = array("q", [time.perf_counter_ns()])
        for seed in asked.calls:
            batches.append(draw(seed))
            readings.append(time.perf_counter_ns())
        return Clocked(Answered(batches, asked.covered), readings)

    return Operation(
        calls=draws.calls,
        inputs=draws.inputs,
        run=run,
        digested=lambda clocked: draws.digested(clocked.draws),
        write=lambda asked, clocked, folder: draws.write(asked, clocked.draws, folder),
        counts=draws.counts,
        figures=figures_of_draws,
        # Minibatches that stay would leave the next repetition no memory that is at hand.
        kept=lambda clocked: clocked.nanoseconds,
    )


def figures_of_draws(readings: Sequence[Sequence[int]]) -> Mapping[str, float]:
    """The figures of a round, from the readings of each repetition."""
    return latencies.figures(np.diff(readings).astype(np.float64) * 1e-9)
