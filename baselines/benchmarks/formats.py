"""What every implementation of the benchmark `format` shares: its parameters, its dataset and its courses.

A case is one operation on a dataset in a file: write it, open it and read one row, read one row of an open file, or
read all rows in their order. A row has an observation, an action, a reward and a flag. Observation `r` is row `r mod 64`
of the tape, and begins with the number `r` as eight bytes. The other columns follow from `r`.

What is read is summed, as words or whole numbers, and the sum is part of the time. Otherwise a view of the file would
cost nothing. The referee draws the rows, and by which number each call's sum is multiplied (`marks.npy`). A dataset that
is written has one action of the referee's. A few rows of it are read back outside the clock, and all rows of the files
that the referee asks for.

What is compared is which rows came (`delivered.npy`): a row's number, or -1 where any byte of it is another. `size.npy`
is the size of the file over that of the columns.
"""

import argparse
import os
import shutil
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from baselines.benchmarks import loader
from baselines.contract import protocol
from baselines.contract.numbers import Numbers
from baselines.contract.operation import Operation, serve
from baselines.inputs.rows import Rows

COLUMNS = ("observation", "action", "reward", "terminated")
WRITE, OPEN, ROW, SCAN = "write", "open", "row", "scan"
# What formats of blocks put into one: the module's own size.
_BLOCK_BYTES = 2**22
# An action of 8 bytes, a reward of 4 and a flag of 1.
_OTHER_BYTES = 13
_WORD_BYTES = 8
# Of each written file, so few that they are read in a small part of the time that writing takes.
_READ_BACK = 4
_REWARDS, _EPISODE = 1000, 200

# Arrays by their column. Of many rows: u8 (n, row_bytes), i64 (n,), f32 (n,) and u8 (n,). Of one: without that axis.
Columns = Mapping[str, NDArray[Any]]


@dataclass(frozen=True, kw_only=True)
class Parameters(protocol.Repetitions):
    """One case: what it `does` with `rows` rows, whose observations have `row_bytes` bytes.

    A call writes or reads `rows_a_call` rows.
    """

    does: str
    rows: int
    row_bytes: int
    rows_a_call: int

    def __post_init__(self) -> None:
        super().__post_init__()
        self.require_positive("rows", "row_bytes")
        if self.does not in (WRITE, OPEN, ROW, SCAN):
            raise ValueError(f"'does' must be {WRITE}, {OPEN}, {ROW} or {SCAN}")
        if self.row_bytes % _WORD_BYTES:
            raise ValueError("'row_bytes' must be a multiple of 8: observations are read as 64-bit words")
        if self.rows_a_call != (self.rows if self.all_rows else 1):
            raise ValueError(f"'rows_a_call' must be 'rows' for {WRITE} and {SCAN}, and 1 otherwise")
        if self.does == WRITE and self.calls != 1:
            raise ValueError(f"'calls' must be 1 for {WRITE}: each file is read back")

    @property
    def all_rows(self) -> bool:
        """Whether a call has to do with all rows."""
        return self.does in (WRITE, SCAN)

    @property
    def block_rows(self) -> int:
        """Rows of about 4 MiB, for formats of blocks."""
        return max(1, _BLOCK_BYTES // (self.row_bytes + _OTHER_BYTES))


class Opened(Protocol):
    """A dataset in a file that is open."""

    def row(self, number: int) -> Columns:
        """One row."""

    def pieces(self) -> Iterable[Columns]:
        """All rows in their order, in pieces that suit the format."""


class Format(NamedTuple):
    """How a format writes a new file, or folder of files, and how it opens one."""

    write: Callable[[Path, Columns, Parameters], None]
    open: Callable[[Path, Parameters], Opened]


class Drawn(NamedTuple):
    """The rows that are read, and what their sums are multiplied by: a sum for each row, or one for a written file."""

    weights: Numbers
    rows: list[int]


class Sums(NamedTuple):
    """What was read: the sum of each call, and what each is multiplied by."""

    weights: Numbers
    sums: list[int]

    def marks(self) -> Numbers:
        """One number a call."""
        return self.weights * np.array([each % 2**64 for each in self.sums], np.uint64)


def run(options: argparse.Namespace, form: Format) -> None:
    """Serve every case: write the dataset, and do with it what the case does."""
    with TemporaryDirectory() as folder:
        datasets: dict[Path, Columns] = {}

        def operation(
            request: protocol.Request, case: protocol.Case, sizes: Parameters
        ) -> Operation[Any, Any]:
            # Cases with the same rows read the same file.
            path = Path(folder) / f"{sizes.rows}x{sizes.row_bytes}"
            if path not in datasets:
                datasets[path] = dataset(protocol.input_file(request, case, "tape.npy", np.load), sizes.rows)
                form.write(path, datasets[path], sizes)
            return course(form, path, datasets[path], sizes)

        serve(options, Parameters, operation)


def course(form: Format, path: Path, columns: Columns, sizes: Parameters) -> Operation[Any, Any]:
    """The operation of a case. The dataset lies at the path."""
    if sizes.does == WRITE:
        return _writing(form, path.with_name(f"{path.name}-new"), columns, sizes)
    return _reading(form, path, columns, sizes)


def dataset(tape: Rows, count: int) -> Columns:
    """So many rows. Rewards are whole numbers, so any order of summing them gives the same."""
    numbers = np.arange(count, dtype=np.int64)
    return {
        "observation": loader.dataset(tape, count),
        "action": numbers,
        "reward": (numbers % _REWARDS).astype(np.float32),
        "terminated": (numbers % _EPISODE == _EPISODE - 1).astype(np.uint8),
    }


def sum_of_row(row: Columns) -> int:
    """Its observation's words, and its other numbers."""
    words = int(np.add.reduce(row["observation"].view(np.uint64)))
    return words + int(row["action"]) + int(row["reward"]) + int(row["terminated"])


def sum_of(pieces: Iterable[Columns]) -> int:
    """The same of all rows together, modulo 2**64."""
    return sum(
        int(np.add.reduce(piece["observation"].reshape(-1).view(np.uint64)))
        + int(np.add.reduce(piece["action"]))
        + int(np.add.reduce(piece["reward"], dtype=np.float64))
        + int(np.add.reduce(piece["terminated"], dtype=np.uint64))
        for piece in pieces
    )


def delivered_row(row: Columns, number: int, wanted: Columns) -> int:
    """The number, or -1 where this is not the row of that number in all its bytes."""
    alike = all(
        row[name].dtype == wanted[name].dtype and np.array_equal(row[name], wanted[name][number])
        for name in COLUMNS
    )
    return number if alike else -1


def delivered(pieces: Iterable[Columns], wanted: Columns) -> NDArray[np.int64]:
    """The place of each row, or -1 where it is not the row of that place in all its bytes."""
    found, first = [], 0
    for piece in pieces:
        numbers = np.arange(first, first + len(piece["action"]))
        alike = np.ones(len(numbers), np.bool_)
        for name in COLUMNS:
            there = wanted[name][first : first + len(numbers)]
            same = (piece[name] == there) & (piece[name].dtype == there.dtype)
            alike &= same.reshape(len(numbers), -1).all(axis=1)
        found.append(np.where(alike, numbers, -1))
        first += len(numbers)
    return np.concatenate(found)


def size(path: Path, columns: Columns) -> float:
    """The bytes of what lies at the path over those of the columns."""
    return sum(file.stat().st_size for file in _files(path)) / sum(each.nbytes for each in columns.values())


def _reading(form: Format, path: Path, columns: Columns, sizes: Parameters) -> Operation[Drawn, Sums]:
    opened = form.open(path, sizes)

    def one(number: int) -> Columns:
        return (form.open(path, sizes) if sizes.does == OPEN else opened).row(number)

    def begin(numbers: Numbers) -> Drawn:
        # Odd numbers: times one of them no sum becomes another's, or 0.
        return Drawn(numbers | np.uint64(1), (numbers % np.uint64(sizes.rows)).tolist())

    def read(drawn: Drawn) -> Sums:
        if sizes.all_rows:
            return Sums(drawn.weights, [sum_of(opened.pieces()) for _ in drawn.rows])
        return Sums(drawn.weights, [sum_of_row(one(number)) for number in drawn.rows])

    def write(drawn: Drawn, sums: Sums, folder: Path) -> None:
        np.save(folder / "marks.npy", sums.marks())
        if sizes.all_rows:
            found = [delivered(opened.pieces(), columns) for _ in drawn.rows]
        else:
            found = [np.array(delivered_row(one(number), number, columns)) for number in drawn.rows]
        np.save(folder / "delivered.npy", np.stack(found))
        np.save(folder / "size.npy", size(path, columns))

    return Operation(
        calls=sizes.calls,
        inputs=begin,
        run=read,
        digested=lambda sums: [sums.marks()],
        write=write,
        counts={"rows": sizes.rows_a_call},
    )


def _writing(form: Format, path: Path, columns: Columns, sizes: Parameters) -> Operation[Drawn, Drawn]:
    actions = columns["action"].copy()
    changed = {**columns, "action": actions}

    def begin(numbers: Numbers) -> Drawn:
        # All write a new file: to empty one that is there costs time.
        _remove(path)
        number, between = int(numbers[0]), max(1, sizes.rows // _READ_BACK)
        actions[:] = columns["action"]
        actions[number % sizes.rows] = number >> 1
        rows = [(number + each * between) % sizes.rows for each in range(_READ_BACK)]
        return Drawn(numbers | np.uint64(1), rows)

    def store(written: Drawn) -> Drawn:
        form.write(path, changed, sizes)
        _synchronise(path)
        return written

    def marks(written: Drawn) -> Numbers:
        opened = form.open(path, sizes)
        return Sums(written.weights, [sum(sum_of_row(opened.row(row)) for row in written.rows)]).marks()

    def write(_: Drawn, written: Drawn, folder: Path) -> None:
        np.save(folder / "marks.npy", marks(written))
        np.save(folder / "delivered.npy", delivered(form.open(path, sizes).pieces(), changed)[None])
        np.save(folder / "size.npy", size(path, columns))

    return Operation(
        calls=sizes.calls,
        inputs=begin,
        run=store,
        digested=lambda written: [marks(written)],
        write=write,
        counts={"rows": sizes.rows_a_call},
    )


def _files(path: Path) -> list[Path]:
    return sorted(path.iterdir()) if path.is_dir() else [path]


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def _synchronise(path: Path) -> None:
    """Wait for the disk, for all alike: the module's writer does so by itself."""
    for each in _files(path):
        with each.open("rb") as file:
            os.fsync(file.fileno())
