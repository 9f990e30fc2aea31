"""The courses of `batch-latency`: how long a consumer waits for a single batch, and for the first one.

Dataset, files and gate are those of `loader`. A call of the course `batches` is one batch of an epoch, and the clock is
read after each. An epoch's first batch is one of them: a loop that begins the next epoch waits for it too. A call of the
course `first` opens the dataset with a new loader, reads one batch, and closes the loader with its workers.

Beside the seconds of a call a launch says the figures of `latencies.py`, of all batches of a round. It also says
`first_batch_seconds`: the median time to a first batch, since its epoch began or since its dataset was opened.
"""

import time
from array import array
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from baselines.benchmarks import latencies
from baselines.benchmarks.loader import Epoch, Loader, Parameters, course, read, write_outputs
from baselines.contract.numbers import Numbers
from baselines.contract.operation import Operation
from baselines.inputs.rows import Rows


class Clocked(NamedTuple):
    """What was read, and nanoseconds by the clock: readings of it in `batches`, and waits in `first`."""

    epoch: Epoch
    nanoseconds: Sequence[int]


def each_batch(loader: Loader, tape: Rows, sizes: Parameters) -> Operation[Numbers, Clocked]:
    """The epochs of a case, with a reading of the clock before them and one after each batch."""
    epochs = course(loader, tape, sizes)

    def run(weights: Numbers) -> Clocked:
        # A round keeps them for its figures. Lists would need five times the memory.
        sums, readings = array("Q"), array("q", [time.perf_counter_ns()])
        for batch in loader.epoch():
            sums.append(read(batch))
            readings.append(time.perf_counter_ns())
        return Clocked(Epoch(weights, sums), readings)

    return Operation(
        calls=epochs.calls,
        inputs=epochs.inputs,
        run=run,
        digested=lambda clocked: epochs.digested(clocked.epoch),
        write=lambda weights, clocked, folder: epochs.write(weights, clocked.epoch, folder),
        counts=epochs.counts,
        figures=figures_of_batches,
    )


def first_batch(make: Callable[[], Loader], tape: Rows, sizes: Parameters) -> Operation[Numbers, Clocked]:
    """New loaders, each of which gives one batch."""

    def opened(weight: int) -> Loader:
        loader = make()
        loader.seed(weight)
        return loader

    def begin(numbers: Numbers) -> Numbers:
        # Odd, as those of an epoch.
        return numbers | np.uint64(1)

    def run(weights: Numbers) -> Clocked:
        sums, waits = array("Q"), array("q")
        for weight in weights.tolist():
            began = time.perf_counter_ns()
            loader = opened(weight)
            epoch = iter(loader.epoch())
            sums.append(read(next(epoch)))
            waits.append(time.perf_counter_ns() - began)
            # Nothing else refers to them, so their workers end here.
            del epoch, loader
        return Clocked(Epoch(weights, sums), waits)

    def write(weights: Numbers, _: Clocked, folder: Path) -> None:
        batches = (next(iter(opened(weight).epoch())) for weight in weights.tolist())
        write_outputs(folder, weights, batches, tape, sizes)

    return Operation(
        calls=sizes.calls,
        inputs=begin,
        run=run,
        digested=lambda clocked: [clocked.epoch.marks()],
        write=write,
        counts={"rows": sizes.batch},
        figures=figures_of_firsts,
    )


def figures_of_batches(epochs: Sequence[Clocked]) -> Mapping[str, float]:
    """The figures of `batches`."""
    seconds = np.diff([epoch.nanoseconds for epoch in epochs]) * 1e-9
    return {"first_batch_seconds": float(np.median(seconds[:, 0])), **latencies.figures(seconds)}


def figures_of_firsts(repetitions: Sequence[Clocked]) -> Mapping[str, float]:
    """The figure of `first`."""
    waits = np.concatenate([repetition.nanoseconds for repetition in repetitions])
    return {"first_batch_seconds": float(np.median(waits)) * 1e-9}
