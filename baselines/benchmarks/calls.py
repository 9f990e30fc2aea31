"""What every implementation of the benchmark `calls` shares: its parameters, its files and its course.

A call does no work, so that its time is the crossing's: arguments are taken, and a value is given back.

    echo     a whole number                 the same number
    element  an array and a whole number    the array's value at this index
    sum      five arrays and such a number  the sum of their values there, from left to right
    copy     an array                       a new one with the same values

Arrays are f64 and have one axis. The referee draws for each repetition where in a given order its whole numbers begin; of
`copy` they say which part of a tape is copied. What is timed is a loop of calls. It drops each result when the next one
comes, as a program does that has used it.
"""

import argparse
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from baselines.contract import protocol
from baselines.contract.numbers import Numbers
from baselines.contract.operation import Operation, save, serve
from baselines.contract.tapes import places

Array = NDArray[np.float64]
Call = Callable[..., Any]
# Makes a call with each of what is given, and with the arrays that all calls share; returns the last result.
Loop = Callable[[Call, Sequence[Any], Sequence[Any]], Any]


@dataclass(frozen=True, kw_only=True)
class Parameters(protocol.Repetitions):
    """One case: what a call does, with arrays of `size` values."""

    does: str
    size: int

    def __post_init__(self) -> None:
        super().__post_init__()
        self.require_positive("size")
        if self.does not in LOOPS:
            raise ValueError(f"'does' must be one of {', '.join(LOOPS)}")


@dataclass(frozen=True, kw_only=True)
class Course:
    """How an implementation is called.

    Attributes:
        calls: what is called, by what it does. Nothing stands between it and the loop.
        laid_out: an array as the implementation takes it; not timed.
    """

    calls: Mapping[str, Call]
    laid_out: Callable[[Array], Any] = lambda array: array


def alone(call: Call, _: Sequence[Any], given: Sequence[Any]) -> Any:
    """Calls with one argument. This is what is timed."""
    for each in given:
        last = call(each)
    return last


def with_an_array(call: Call, arrays: Sequence[Any], given: Sequence[int]) -> Any:
    """Calls with the same array. This is what is timed."""
    (array,) = arrays
    for index in given:
        last = call(array, index)
    return last


def with_five_arrays(call: Call, arrays: Sequence[Any], given: Sequence[int]) -> Any:
    """Calls with the same five arrays. This is what is timed."""
    first, second, third, fourth, fifth = arrays
    for index in given:
        last = call(first, second, third, fourth, fifth, index)
    return last


LOOPS: Mapping[str, Loop] = {
    "echo": alone,
    "element": with_an_array,
    "sum": with_five_arrays,
    "copy": alone,
}
# How many arrays all calls share.
_SHARED = {"echo": 0, "element": 1, "sum": 5, "copy": 0}


def run(options: argparse.Namespace, course: Course) -> None:
    """Serve every case: read its order and tapes, and call as the referee says."""

    def operation(
        request: protocol.Request, case: protocol.Case, parameters: Parameters
    ) -> Operation[Sequence[Any], Any]:
        order, tapes = (
            protocol.input_file(request, case, f"{name}.npy", np.load) for name in ("order", "values")
        )
        size, calls, loop = parameters.size, parameters.calls, LOOPS[parameters.does]
        call = course.calls.get(parameters.does)
        if call is None:
            protocol.refuse(f"case {case.name} asks for {parameters.does!r}, and no call here does it")
        copies = parameters.does == "copy"
        arrays = [course.laid_out(tape[:size].copy()) for tape in tapes[: _SHARED[parameters.does]]]
        given: list[Any] = order.tolist()
        if copies:
            parts = [course.laid_out(tapes[0, first : first + size]) for first in range(size)]
            given = [parts[first] for first in given]

        def inputs(numbers: Numbers) -> Sequence[Any]:
            (first,) = places(numbers[:1], 0)
            return given[first : first + calls]

        def write(given: Sequence[Any], last: Any, folder: Path) -> None:
            """The timed calls once more, with all results."""
            answers = [loop(call, arrays, [each]) for each in given]
            if copies and any(np.shares_memory(np.asarray(answer), tapes) for answer in answers):
                raise ValueError("an array that was given came back, and no new one")
            save(folder, "answers.npy", [_values(answer) for answer in answers])
            save(folder, "last.npy", [_values(last)])

        return Operation(
            calls=calls,
            inputs=inputs,
            run=lambda given: loop(call, arrays, given),
            digested=lambda last: [_values(last)],
            write=write,
            counts={"calls": calls},
        )

    serve(options, Parameters, operation)


def _values(answer: Any) -> Array:
    # Every such whole number is a f64, and so is a value of lower precision, which then differs from the reference's.
    return np.asarray(answer, dtype=np.float64)
