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
from baselines.contract.operation import Operation


class Clocked(NamedTuple):
    """The minibatches of a repetition, and the clock in nanoseconds before the first one and after each."""

    batches: list[Any]
    nanoseconds: Sequence[int]


def each_draw(
    draws: Operation[Sequence[int], list[Any]], draw: Callable[[int], Any]
) -> Operation[Sequence[int], Clocked]:
    """The draws of a case, each of which has a seed, with a reading of the clock before them and one after each."""

    def run(seeds: Sequence[int]) -> Clocked:
        batches: list[Any] = []
        # A round keeps them for its figures. Lists would need five times the memory.
        readings = array("q", [time.perf_counter_ns()])
        for seed in seeds:
            batches.append(draw(seed))
            readings.append(time.perf_counter_ns())
        return Clocked(batches, readings)

    return Operation(
        calls=draws.calls,
        inputs=draws.inputs,
        run=run,
        digested=lambda clocked: draws.digested(clocked.batches),
        write=lambda seeds, clocked, folder: draws.write(seeds, clocked.batches, folder),
        counts=draws.counts,
        figures=figures_of_draws,
        # Minibatches that stay would leave the next repetition no memory that is at hand.
        kept=lambda clocked: clocked.nanoseconds,
    )


def figures_of_draws(readings: Sequence[Sequence[int]]) -> Mapping[str, float]:
    """The figures of a round, from the readings of each repetition."""
    return latencies.figures(np.diff(readings).astype(np.float64) * 1e-9)
