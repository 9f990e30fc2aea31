"""An operation under a referee: it holds the clock of every window, and decides what is computed in it.

An implementation hands over an `Operation` for each case. What the referee says, when it says it and what is answered
is docs/protocol.md; nothing of it reaches an implementation.
"""

import argparse
import gc
import json
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from baselines.contract import protocol
from baselines.contract.numbers import Numbers, Places, digest, numbers

Array = NDArray[Any]
Input = TypeVar("Input")
Output = TypeVar("Output")
Parameters = TypeVar("Parameters", bound=protocol.Repetitions)


@dataclass(frozen=True, kw_only=True)
class Operation(Generic[Input, Output]):
    """One case, ready to be called.

    Attributes:
        calls: how many calls a repetition has; all of them lie between two readings of the clock.
        inputs: what each call gets, from one number below 2**64 each. No input comes twice.
        call: what is timed.
        array: an output of a call as a NumPy array, by its place in `files`.
        files: the names of the output files, in the order of the benchmark's gate.
        counts: how much work one call does.
    """

    calls: int
    inputs: Callable[[Numbers], Sequence[Input]]
    call: Callable[[Input], Output]
    array: Callable[[Output, int], Array]
    files: tuple[str, ...]
    counts: Mapping[str, int]


@dataclass(frozen=True, kw_only=True)
class Round:
    """What one round gives: seconds a call, one figure a repetition, and a digest each."""

    seconds: tuple[float, ...]
    digests: tuple[str, ...]


def serve(
    options: argparse.Namespace,
    kind: type[Parameters],
    prepare: Callable[[protocol.Request, protocol.Case, Parameters], Operation[Any, Any]],
) -> None:
    """Serve all cases of an operation: as a referee says on stdin, or by hand without one.

    Args:
        options: of the command line.
        kind: the frozen dataclass of a case's parameters.
        prepare: makes the operation of a case: reads its inputs, compiles, computes nothing of what is timed.
    """
    asked = protocol.request(options)
    if not asked.cases:
        protocol.refuse("no --case was given; name at least one, with its --parameters")
    wanted = {case.name: protocol.checked(case, kind) for case in asked.cases}
    protocol.check_instructions()
    if options.referee:
        operations = {case.name: prepare(asked, case, wanted[case.name]) for case in asked.cases}
        _answer(asked, operations)
        return
    for case in asked.in_seeded_order():
        _by_hand(asked, case, prepare(asked, case, wanted[case.name]), wanted[case.name])


def _answer(request: protocol.Request, operations: Mapping[str, Operation[Any, Any]]) -> None:
    """Do what each line on stdin says, until its end."""
    protocol.print_event({"event": "ready"})
    for line in sys.stdin:
        heard = time.perf_counter()
        order = json.loads(line)
        name = order["case"]
        operation = operations[name]
        if order["event"] == "go":
            protocol.print_line(_done(name, operation, order["nonce"], order["repetitions"], heard))
        else:
            _write(request, name, operation, order["nonce"], order["repetitions"])
            protocol.print_event({"event": "written", "case": name})


def _done(name: str, operation: Operation[Any, Any], nonce: str, repetitions: int, heard: float) -> str:
    """The answer to `go`, as text: what is spent on the text belongs to what is claimed."""
    done = run_round(operation, nonce, repetitions)
    answer = {
        "event": "done",
        "case": name,
        "metrics": {"seconds": done.seconds},
        "counts": dict(operation.counts),
        "digests": done.digests,
        "memory": protocol.memory(),
    }
    text = json.dumps(answer, allow_nan=False)
    timed = sum(done.seconds) * operation.calls
    return f'{text[:-1]}, "between_seconds": {max(0.0, time.perf_counter() - heard - timed)}}}'


def run_round(operation: Operation[Input, Output], nonce: str, repetitions: int) -> Round:
    """Time so many repetitions on the inputs of a nonce.

    The collector of cycles is off while the clock runs, as in the standard library's timeit and for all alike: a
    collection falls on whichever call happens to trigger it. Reference counts free memory as ever.
    """
    calls, call, array = operation.calls, operation.call, operation.array
    draws = numbers(nonce, 0, 0, repetitions * calls)
    seconds: list[float] = []
    digests: list[str] = []
    places: Places | None = None
    collecting = gc.isenabled()
    gc.disable()
    try:
        for first in range(0, repetitions * calls, calls):
            inputs = operation.inputs(draws[first : first + calls])
            start = time.perf_counter_ns()
            outputs = [call(each) for each in inputs]
            elapsed = (time.perf_counter_ns() - start) * 1e-9
            seconds.append(elapsed / calls)
            if places is None:
                sizes = [array(outputs[0], index).size for index in range(len(operation.files))]
                places = Places.of(nonce, sizes=sizes, first=0, count=repetitions * calls)
            of_calls = slice(first, first + calls)
            chosen = zip(outputs, places.outputs[of_calls], places.elements[of_calls], strict=True)
            digests.append(digest([array(output, which).item(element) for output, which, element in chosen]))
    finally:
        if collecting:
            gc.enable()
    return Round(seconds=tuple(seconds), digests=tuple(digests))


def _write(
    request: protocol.Request,
    name: str,
    operation: Operation[Any, Any],
    nonce: str,
    repetitions: Sequence[int],
) -> None:
    """Compute some repetitions again and write their outputs, the call as the first axis, into a folder each."""
    if request.output_directory is None:
        protocol.refuse("--output is needed; the referee asked for outputs")
    for repetition in repetitions:
        folder = protocol.made_directory(request.output_directory / name / str(repetition))
        _write_repetition(operation, nonce, repetition, folder)


def _write_repetition(operation: Operation[Any, Any], nonce: str, repetition: int, folder: Path) -> None:
    inputs = operation.inputs(numbers(nonce, 0, repetition * operation.calls, operation.calls))
    outputs = [operation.call(each) for each in inputs]
    for index, file in enumerate(operation.files):
        np.save(folder / file, np.stack([operation.array(each, index) for each in outputs]))


def _by_hand(
    request: protocol.Request,
    case: protocol.Case,
    operation: Operation[Any, Any],
    sizes: protocol.Repetitions,
) -> None:
    """Without a referee: warm up, time what the parameters say, print a measurement."""
    nonce = f"{request.seed:016x}"
    if sizes.warmup:
        run_round(operation, nonce, sizes.warmup)
    done = run_round(operation, nonce, sizes.repetitions)
    metrics = {"seconds": list(done.seconds)}
    protocol.print_measurement(protocol.measurement(case, metrics=metrics, counts=operation.counts))
    if (folder := request.output_of(case)) is not None:
        _write_repetition(operation, nonce, 0, folder)
