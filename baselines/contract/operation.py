"""An operation under a referee: it holds the clock of every window, and decides what is computed in it.

An implementation hands over an `Operation` for each case. What the referee says, when it says it and what is answered
is docs/protocol.md; nothing of it reaches an implementation.
"""

import argparse
import ctypes
import gc
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from baselines.contract import protocol
from baselines.contract.conversation import Round, answer
from baselines.contract.numbers import Numbers, digest, numbers

Array = NDArray[Any]
Inputs = TypeVar("Inputs")
Outputs = TypeVar("Outputs")
Parameters = TypeVar("Parameters", bound=protocol.Repetitions)

# Of freed memory, what the C library may keep; several times what all calls of a repetition return.
_KEPT_BYTES = 64 * 2**20
# Blocks from this size on are mapped anew each time. The most that glibc takes on 64 bits.
_MAPPED_BYTES = 32 * 2**20
# M_TOP_PAD and M_MMAP_THRESHOLD of mallopt(3).
_TOP_PAD, _MMAP_THRESHOLD = -2, -3


@dataclass(frozen=True, kw_only=True)
class Operation(Generic[Inputs, Outputs]):
    """One case, ready to be repeated.

    Attributes:
        calls: how many calls a repetition has.
        inputs: what a repetition works on, from one number below 2**64 for each of its calls. Not timed.
        run: what is timed: all calls of a repetition.
        digested: the arrays of a repetition that the digest covers, as the output files hold them.
        write: writes the output files of a repetition into a folder.
        counts: how much work one call does.
        figures: what a round says beside the seconds of a call, from what was kept of each repetition; None where it
            says nothing else.
        kept: what of a repetition's outputs is kept for the figures; None for all of them.
    """

    calls: int
    inputs: Callable[[Numbers], Inputs]
    run: Callable[[Inputs], Outputs]
    digested: Callable[[Outputs], Sequence[Array]]
    write: Callable[[Inputs, Outputs, Path], None]
    counts: Mapping[str, int]
    figures: Callable[[Sequence[Any]], Mapping[str, float]] | None = None
    kept: Callable[[Outputs], Any] | None = None

    def timed(self, nonce: str, repetition: int) -> tuple[float, Inputs, Outputs]:
        """The seconds of one repetition, and what it worked on and gave."""
        inputs = self.inputs(numbers(nonce, repetition * self.calls, self.calls))
        start = time.perf_counter_ns()
        outputs = self.run(inputs)
        return (time.perf_counter_ns() - start) * 1e-9, inputs, outputs

    def keep(self, outputs: Outputs, kept: list[Any]) -> None:
        """Add to what is kept for the figures what they need of a repetition with these outputs."""
        if self.figures is not None:
            kept.append(outputs if self.kept is None else self.kept(outputs))

    def said(self, kept: Sequence[Any]) -> Mapping[str, float]:
        """The figures of repetitions of which this was kept."""
        return self.figures(kept) if self.figures is not None and kept else {}


@dataclass(frozen=True, kw_only=True)
class _Case(Generic[Inputs, Outputs]):
    """An operation as a conversation needs it."""

    operation: Operation[Inputs, Outputs]

    def round(self, nonce: str, first: int, repetitions: int, *, seed: int | None = None) -> Round:
        """Time so many repetitions, and make a digest of each."""
        # Of a training alone.
        del seed
        return run_round(self.operation, nonce, first, repetitions)

    def write(self, nonce: str, repetition: int, folder: Path) -> None:
        """Compute a repetition again, and write its outputs."""
        _, inputs, outputs = self.operation.timed(nonce, repetition)
        self.operation.write(inputs, outputs, folder)


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
    keep_freed_memory()
    if options.referee:
        answer(
            asked,
            {case.name: _Case(operation=prepare(asked, case, wanted[case.name])) for case in asked.cases},
        )
        return
    progress = protocol.Progress(total=len(wanted), unit="case")
    for done, case in enumerate(asked.in_seeded_order()):
        progress.report(done)
        _by_hand(asked, case, prepare(asked, case, wanted[case.name]), wanted[case.name])


def calling(call: Callable[[Any], Any]) -> Callable[[Sequence[Any]], list[Any]]:
    """What runs a repetition whose calls are those of one function, each with an input of its own."""
    return lambda inputs: [call(each) for each in inputs]


def run_round(operation: Operation[Any, Any], nonce: str, first: int, repetitions: int) -> Round:
    """Time so many repetitions from the first on, on the inputs of a nonce, and make a digest of each."""
    seconds: list[float] = []
    digests: list[str] = []
    kept: list[Any] = []
    with collector_off():
        for repetition in range(first, first + repetitions):
            elapsed, _, outputs = operation.timed(nonce, repetition)
            seconds.append(elapsed / operation.calls)
            digests.append(digest(operation.digested(outputs)))
            operation.keep(outputs, kept)
    return Round(
        metrics={"seconds": seconds, **operation.said(kept)},
        counts=operation.counts,
        digests=digests,
        timed_seconds=sum(seconds) * operation.calls,
    )


def keep_freed_memory() -> None:
    """Let the C library keep what is freed, for all implementations in Python alike.

    By itself it may hand a repetition's arrays back to the system and take them anew for the next one. Whether it does
    depends on how the heap happens to lie: of two launches of one program, one then needed nearly five times as long
    for its digests. Other C libraries than glibc stay as they are.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(_TOP_PAD, _KEPT_BYTES)
        # glibc raises that size by itself as programs free such blocks, until the first call of mallopt. Else it would
        # stay where the imports happened to leave it.
        mallopt(_MMAP_THRESHOLD, _MAPPED_BYTES)


@contextmanager
def collector_off() -> Iterator[None]:
    """Without the collector of cycles, as in the standard library's timeit and for all alike.

    A collection falls on whichever call happens to trigger it. Reference counts free memory as ever.
    """
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()


def save(folder: Path, file: str, calls: Sequence[Array]) -> None:
    """Write an output of several calls of a repetition, the call as the first axis."""
    np.save(folder / file, np.stack(calls))


def _by_hand(
    request: protocol.Request,
    case: protocol.Case,
    operation: Operation[Any, Any],
    sizes: protocol.Repetitions,
) -> None:
    """Without a referee: warm up, time what the parameters say, print a measurement."""
    nonce = f"{request.seed:016x}"
    with collector_off():
        _repeat(
            operation,
            nonce,
            sizes.warmup,
            0,
            None if sizes.seconds_limit is None else sizes.seconds_limit / 2,
        )
        timed, kept = _repeat(
            operation, nonce, sizes.repetitions, sizes.least_repetitions, sizes.seconds_limit
        )
    seconds = [elapsed / operation.calls for elapsed in timed]
    metrics: dict[str, float | Sequence[float]] = {"seconds": seconds, **operation.said(kept)}
    event = protocol.measurement(case, metrics=metrics, counts=operation.counts)
    protocol.print_measurement(event)
    if (folder := request.output_of(case)) is not None:
        _Case(operation=operation).write(nonce, 0, folder)


def _repeat(
    operation: Operation[Any, Any], nonce: str, most: int, least: int, seconds_limit: float | None
) -> tuple[list[float], list[Any]]:
    """The seconds of each repetition: ``most``, or fewer once the limit has passed and ``least`` are done.

    What is kept for the operation's figures comes with them.
    """
    timed: list[float] = []
    kept: list[Any] = []
    for repetition in range(most):
        if seconds_limit is not None and repetition >= least and sum(timed) > seconds_limit:
            break
        elapsed, _, outputs = operation.timed(nonce, repetition)
        timed.append(elapsed)
        operation.keep(outputs, kept)
    return timed, kept
