"""What every implementation of the benchmark `loader` shares: its parameters, its dataset, its files and its course.

A call is one batch, and a repetition is one epoch: the start of its iteration, and all of its batches. The dataset lies
in a file of the implementation's own format, which it writes before the clock starts. Row `r` is row `r mod 64` of the
tape, and begins with the number `r` as eight bytes. The file was just written, so it is read from memory and not from
a disk.

Each batch is read once, as a training reads it: the sum of its 64-bit words is part of the time. Otherwise a view of the
file would cost nothing. The referee draws the seed of each epoch, and by which number the sum of each batch is multiplied
(`marks.npy`).

What is compared is which rows came (`delivered.npy`): in their order where rows come as they are stored, and sorted where
they are shuffled. The order of shuffled rows is each implementation's own, so figures of it are compared (`order.npy`).
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from baselines.contract import protocol
from baselines.contract.numbers import Numbers
from baselines.contract.operation import Operation
from baselines.inputs.rows import Rows

# Equal parts of an epoch, whose mean rows show how they are shuffled.
PARTS = 16
_NUMBER_BYTES = 8
# What is timed: epochs, the batches of an epoch one by one, or the first batch of a new loader.
EPOCH, BATCHES, FIRST = "epoch", "batches", "first"


@dataclass(frozen=True, kw_only=True)
class Parameters(protocol.Repetitions):
    """One case: epochs of `calls` batches of `batch` rows, out of `rows` rows of `row_bytes` bytes.

    Where it `does` no epochs, baselines/benchmarks/batch_latency.py says what a call is.
    """

    rows: int
    row_bytes: int
    batch: int
    shuffled: bool
    does: str = EPOCH

    def __post_init__(self) -> None:
        super().__post_init__()
        self.require_positive("rows", "row_bytes", "batch")
        if self.does not in (EPOCH, BATCHES, FIRST):
            raise ValueError(f"'does' must be {EPOCH}, {BATCHES} or {FIRST}")
        if self.does == FIRST and (self.shuffled or self.batch > self.rows):
            raise ValueError(
                "a first batch must be there, and come as it is stored: the gate compares its rows"
            )
        if self.does != FIRST and self.calls * self.batch != self.rows:
            raise ValueError("'calls' times 'batch' must be 'rows': a repetition is an epoch")
        if self.row_bytes % _NUMBER_BYTES:
            raise ValueError("'row_bytes' must be a multiple of 8: rows are read as 64-bit words")


class Loader(Protocol):
    """Batches of the dataset in one file."""

    def seed(self, number: int) -> None:
        """Say what decides the order of the next epoch, before each of them. Not timed."""

    def epoch(self) -> Iterable[Rows]:
        """All batches of an epoch, (batch, row_bytes) each. This is what is timed."""


# Makes the loader of a file.
Make = Callable[[Path, Parameters], Loader]
# Writes a dataset into a file.
Store = Callable[[Path, Rows, Parameters], None]


class Epoch(NamedTuple):
    """What was read of an epoch: the sum of each batch's words, and what each is multiplied by."""

    weights: Numbers
    sums: Sequence[int]

    def marks(self) -> Numbers:
        """One number a batch."""
        return self.weights * np.array(self.sums, np.uint64)


def save(path: Path, rows: Rows, _: Parameters) -> None:
    """Write a dataset as NumPy's file."""
    with path.open("wb") as file:
        np.save(file, rows)


def course(loader: Loader, tape: Rows, sizes: Parameters) -> Operation[Numbers, Epoch]:
    """The epochs of a case."""

    def begin(numbers: Numbers) -> Numbers:
        # Odd numbers: times one of them no sum becomes another's, or 0.
        weights = numbers | np.uint64(1)
        loader.seed(int(weights[0]))
        return weights

    def write(weights: Numbers, _: Epoch, folder: Path) -> None:
        # The same epoch once more, with each row looked at.
        loader.seed(int(weights[0]))
        write_outputs(folder, weights, loader.epoch(), tape, sizes)

    return Operation(
        calls=sizes.calls,
        inputs=begin,
        run=lambda weights: Epoch(weights, [read(batch) for batch in loader.epoch()]),
        digested=lambda epoch: [epoch.marks()],
        write=write,
        counts={"rows": sizes.batch},
    )


def write_outputs(
    folder: Path, weights: Numbers, batches: Iterable[Rows], tape: Rows, sizes: Parameters
) -> None:
    """Write the output files of a repetition that gave these batches."""
    sums, delivered = [], []
    for batch in batches:
        sums.append(read(batch))
        delivered.append(rows_of(batch, tape, sizes.rows))
    found = np.stack(delivered)
    np.save(folder / "marks.npy", Epoch(weights, sums).marks())
    np.save(folder / "order.npy", order(found))
    np.save(
        folder / "delivered.npy",
        np.sort(found, axis=None).reshape(found.shape) if sizes.shuffled else found,
    )


def dataset(tape: Rows, count: int) -> Rows:
    """So many rows."""
    numbers = np.arange(count, dtype="<u8")
    rows: Rows = tape[numbers % len(tape)]
    rows[:, :_NUMBER_BYTES] = numbers[:, None].view(np.uint8)
    return rows


def read(batch: Rows) -> int:
    """The sum of its 64-bit words, modulo 2**64."""
    return int(np.add.reduce(batch.reshape(-1).view(np.uint64)))


def rows_of(batch: Rows, tape: Rows, count: int) -> NDArray[np.int64]:
    """The number of the row of the dataset that each row is, or -1 where it is none of them in all its bytes."""
    numbers = np.ascontiguousarray(batch[:, :_NUMBER_BYTES]).view("<u8")[:, 0]
    of_tape = tape[numbers % len(tape), _NUMBER_BYTES:]
    same = (batch[:, _NUMBER_BYTES:] == of_tape).all(axis=1) & (numbers < count)
    return np.where(same, numbers.astype(np.int64), -1)


def order(delivered: NDArray[np.int64]) -> NDArray[np.float64]:
    """Figures of an order of all rows, which have about the same spread for any number of rows.

    The mean row of each part of the epoch, less that of all and over the deviation that chance gives it. Then how many
    rows come right after their neighbour, which is 1 on average where rows are shuffled.
    """
    rows = delivered.reshape(-1)
    parts = np.array_split(rows, PARTS)
    means = [(part.mean() / len(rows) - 0.5) * np.sqrt(12 * len(part)) for part in parts]
    return np.array([*means, (np.diff(rows) == 1).sum()])
