"""What every implementation of the benchmark `buffer-push` shares: its parameters, its files and its course.

Transitions are pushed one by one into a ring that is full: observation, next observation, action, reward and the two
flags of an ended episode, all f32. They come from a tape that begins again at its end. The referee draws for each
repetition with which row it begins, and that row's reward.

What is compared is a sum of each transition that was pushed, read back from the ring: of the 64-bit words of each field,
times the field's number from 1 on, modulo 2**64. To read all observations back may take longer than to push them. Then
the digest of a repetition covers one transition of several, and the referee decides which (`digested.npy`).

A ring that is read by draws alone (`DrawnRing`) needs longer for that than a referee allows beside the pushes. So its
output files hold what was read back from it, and the digest of a repetition is that of what was pushed. A few rows are
read back for each digest, and must be what was pushed there.
"""

import argparse
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from baselines.benchmarks import covered
from baselines.contract import protocol
from baselines.contract.numbers import Numbers
from baselines.contract.operation import Operation, serve
from baselines.inputs.transitions import Fields, Values

Sums = NDArray[np.uint64]

# A ring that lends no rows copies them to be read back. Copies of this size stay in the processor's cache.
_READ_BYTES = 2**20


@dataclass(frozen=True, kw_only=True)
class Parameters(covered.Parameters):
    """One case: `calls` pushes, of a tape of `rows` transitions whose observations have `observation` values."""

    capacity: int
    observation: int
    rows: int

    def __post_init__(self) -> None:
        super().__post_init__()
        self.require_positive("capacity", "observation", "rows")
        if self.calls > self.capacity:
            raise ValueError("'calls' must be at most 'capacity': what was pushed is read back")


class Ring(Protocol):
    """A ring of transitions, empty at first.

    Attributes:
        push: keeps one transition, which is what `laid_out` gives. This is what is timed.
    """

    push: Callable[..., Any]

    def laid_out(self, row: Fields) -> Sequence[Any]:
        """One transition, whose fields are (1, ...), as the arguments of `push`. Not timed."""

    def read(self, rows: slice) -> Fields:
        """What lies in these rows of memory. Not timed."""


class DrawnRing(Ring, Protocol):
    """A ring that gives what it holds by draws alone, so `read` takes long."""

    def some(self, seed: int) -> tuple[NDArray[np.int64], Fields]:
        """A few rows of memory that a seed decides, and what lies in them. Not timed."""


# Makes a ring for so many transitions of observations of so many values.
Make = Callable[[int, int], Ring]
MakeDrawn = Callable[[int, int], DrawnRing]


def run(options: argparse.Namespace, make: Make) -> None:
    """Serve every case: fill the ring, and push as the referee says."""
    _serve(options, lambda sizes, fields: Pushes(make(sizes.capacity, sizes.observation), fields, sizes))


def run_drawn(options: argparse.Namespace, make: MakeDrawn) -> None:
    """As `run`, for a ring that is read by draws alone."""
    _serve(options, lambda sizes, fields: DrawnPushes(make(sizes.capacity, sizes.observation), fields, sizes))


def _serve(options: argparse.Namespace, course_of: "Callable[[Parameters, Fields], Pushes]") -> None:

    def operation(
        request: protocol.Request, case: protocol.Case, sizes: Parameters
    ) -> Operation[Sequence[Any], None]:
        course = course_of(sizes, read_tape(request, case))

        def write(_: Sequence[Any], __: None, folder: Path) -> None:
            np.save(folder / "sums.npy", course.sums())
            np.save(folder / "digested.npy", course.digested())

        return Operation(
            calls=sizes.calls,
            inputs=course.drawn,
            run=course.push_all,
            digested=lambda _: [course.digested()],
            write=write,
            counts={"values": 2 * sizes.observation + 4},
        )

    serve(options, Parameters, operation)


def read_tape(request: protocol.Request, case: protocol.Case) -> Fields:
    """The transitions of the input files."""
    return Fields(*(protocol.input_file(request, case, f"{name}.npy", np.load) for name in Fields._fields))


class Tape:
    """Transitions as a ring takes them; one has a reward of its own."""

    def __init__(self, ring: Ring, fields: Fields) -> None:
        self._ring = ring
        self.fields = Fields(*(field.copy() for field in fields))
        self.transitions = [self._laid_out(row) for row in range(len(fields.rewards))]
        self._changed = 0

    def change(self, row: int, reward: float) -> None:
        """Undo the last change, and give a row this reward."""
        for place, value in ((self._changed, self._changed), (row, reward)):
            self.fields.rewards[place] = value
            self.transitions[place] = self._laid_out(place)
        self._changed = row

    def _laid_out(self, row: int) -> Sequence[Any]:
        return self._ring.laid_out(Fields(*(field[row : row + 1] for field in self.fields)))


class Pushes:
    """The repetitions of one case, on a ring that is full from the first on."""

    def __init__(self, ring: Ring, fields: Fields, sizes: Parameters) -> None:
        self._ring, self._tape, self._sizes = ring, Tape(ring, fields), sizes
        self._pushed = self._first = 0
        self._covered = slice(0, None, sizes.each)
        self._push_from(0, sizes.capacity)

    def drawn(self, numbers: Numbers) -> Sequence[Any]:
        """The transitions of a repetition. Its first number's high 24 bits are the changed row's reward."""
        number, rows = int(numbers[0]), self._sizes.rows
        self._first = number % rows
        self._covered = self._sizes.covered(numbers)
        self._tape.change(self._first, (number >> 40) * 2.0**-24)
        return self._from(self._first, self._sizes.calls)

    def push_all(self, transitions: Sequence[Any]) -> None:
        """Push them. This is what is timed."""
        push = self._ring.push
        for transition in transitions:
            push(*transition)
        self._pushed += len(transitions)

    def sums(self) -> Sums:
        """Of what the last repetition pushed, in its order, read back from the ring."""
        return np.concatenate([transition_sums(self._ring.read(rows)) for rows in self._newest()])

    def digested(self) -> Sums:
        """Of what the last repetition pushed, in its order, what its digest covers."""
        if self._sizes.each == 1:
            return self.sums()
        places = [self._row(call) for call in range(self._sizes.calls)[self._covered]]
        return np.concatenate([transition_sums(self._ring.read(slice(row, row + 1))) for row in places])

    def _row(self, call: int) -> int:
        """Where in the ring's memory the transition of a call lies."""
        return (self._pushed - self._sizes.calls + call) % self._sizes.capacity

    def _push_from(self, first: int, count: int) -> None:
        self.push_all(self._from(first, count))

    def _from(self, first: int, count: int) -> Sequence[Any]:
        rows = self._tape.transitions
        return (rows[first:] + rows * (count // len(rows) + 1))[:count]

    def _newest(self) -> Iterator[slice]:
        capacity, calls = self._sizes.capacity, self._sizes.calls
        first = self._row(0)
        yield from self._pieces(first, min(first + calls, capacity))
        if first + calls > capacity:
            yield from self._pieces(0, first + calls - capacity)

    def _pieces(self, begin: int, end: int) -> Iterator[slice]:
        rows = max(1, _READ_BYTES // (8 * self._sizes.observation))
        return (slice(at, min(at + rows, end)) for at in range(begin, end, rows))


class DrawnPushes(Pushes):
    """The repetitions of a ring that is read by draws alone."""

    def __init__(self, ring: DrawnRing, fields: Fields, sizes: Parameters) -> None:
        super().__init__(ring, fields, sizes)
        self._some = ring.some
        # What the ring makes for its first draws belongs to no repetition.
        self._some(0)

    def digested(self) -> Sums:
        """The sums of what was pushed. A few rows of the ring are compared with them."""
        rows, calls = self._sizes.rows, self._sizes.calls
        pushed = transition_sums(self._tape.fields)[(self._first + np.arange(calls)) % rows]
        places, kept = self._some(self._pushed)
        call = (places - (self._pushed - calls)) % self._sizes.capacity
        of_these = call < calls
        if not np.array_equal(transition_sums(kept)[of_these], pushed[call[of_these]]):
            raise ValueError("the ring does not hold what was pushed last, in the order of its rows")
        return pushed[self._covered]


def transition_sums(fields: Fields) -> Sums:
    """The sum of each transition."""
    total = np.zeros(len(fields.rewards), np.uint64)
    for number, field in enumerate(fields, start=1):
        total += np.uint64(number) * _words(field)
    return total


def _words(field: Values) -> Sums:
    """The sum of the 64-bit words of each row, of which zeros fill the last."""
    rows = np.ascontiguousarray(field, np.float32).reshape(len(field), -1)
    width = rows.shape[1]
    whole = rows if width % 2 == 0 else np.ascontiguousarray(rows[:, : width - 1])
    words: Sums = whole.view(np.uint64).sum(axis=1, dtype=np.uint64)
    return words if width % 2 == 0 else words + rows[:, -1].view(np.uint32)
