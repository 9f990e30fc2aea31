"""How the process ended, and why the cell failed: one follows from the other."""

import re
from collections.abc import Iterator

from runner.records.contradiction import Contradiction, Rule, contradiction
from runner.records.failure import FailureKind
from runner.records.record import Record

_AFTER_A_GOOD_END = frozenset(
    kind.value
    for kind in (
        FailureKind.MALFORMED_OUTPUT,
        FailureKind.MISSING_MEASUREMENT,
        FailureKind.DOUBLED_MEASUREMENT,
        FailureKind.NOT_FINITE,
        FailureKind.IMPOSSIBLE_TIME,
        FailureKind.UNACCOUNTED_TIME,
        FailureKind.WRONG_COUNTS,
        FailureKind.MISSING_METRIC,
        FailureKind.MISSING_OUTPUT,
        FailureKind.UNREADABLE_OUTPUT,
        FailureKind.WRONG_OUTPUT,
        FailureKind.NO_REFERENCE,
    )
)
_CODE = re.compile(r"exit code (-?[0-9]+);")
_KILLED_AFTER = re.compile(r"killed after ([0-9.e+]+) s")


def ended_well(record: Record) -> Iterator[Contradiction]:
    """Only a process that ended with 0 passes, or fails by what it delivered."""
    code, kind = record.launch.exit_code, record.failure.kind if record.failure else None
    if code != 0 and (kind is None or kind in _AFTER_A_GOOD_END):
        yield contradiction(
            f"the exit code is {_code(code)}, and the cell {_became(kind)}", "launch.exit_code", "failure"
        )


def ended_badly(record: Record) -> Iterator[Contradiction]:
    """A failure of the process has the exit code that it tells of."""
    if record.failure is None:
        return
    code, kind, detail = record.launch.exit_code, record.failure.kind, record.failure.detail
    fits = {
        FailureKind.EXIT_CODE.value: code is not None and code > 0 and _told(_CODE, detail) in (None, code),
        FailureKind.SIGNAL.value: code is None or code < 0,
    }.get(kind, True)
    if not fits:
        yield contradiction(
            f'the exit code is {_code(code)}, and the failure is {kind}: "{detail[:80]}"',
            *("launch.exit_code", "failure"),
        )


def out_of_memory(record: Record) -> Iterator[Contradiction]:
    """The flag and the failure tell the same."""
    if record.failure is None:
        return
    flag, kind = record.launch.out_of_memory, record.failure.kind
    killed_by_it = kind == FailureKind.OUT_OF_MEMORY.value
    unexplained = kind in (FailureKind.EXIT_CODE.value, FailureKind.SIGNAL.value)
    if killed_by_it != flag and (killed_by_it or unexplained):
        yield contradiction(
            f"a process was {'' if flag else 'not '}killed at the memory limit, and the failure is {kind}",
            *("launch.out_of_memory", "failure.kind"),
        )


def deadline(record: Record) -> Iterator[Contradiction]:
    """What was killed at its deadline lived as long."""
    if record.failure is None or record.failure.kind != FailureKind.DEADLINE.value:
        return
    lived, deadline_seconds = record.launch.wall_seconds, record.launch.deadline_seconds
    told = _told(_KILLED_AFTER, record.failure.detail)
    if lived < deadline_seconds or told not in (None, float(f"{deadline_seconds:g}")):
        yield contradiction(
            f"it lived {lived:.6g} s of at most {deadline_seconds:g} s, and it was "
            f'"{record.failure.detail[:80]}"',
            *("launch.wall_seconds", "launch.deadline_seconds", "failure"),
        )


def measured(record: Record) -> Iterator[Contradiction]:
    """What is said to be missing is missing."""
    if record.failure and record.failure.kind == FailureKind.MISSING_MEASUREMENT.value and record.measurement:
        yield contradiction("the failure is that nothing was measured, and something was", *_MEASURED)


_MEASURED = ("failure.kind", "measurement")


def _told(pattern: re.Pattern[str], detail: str) -> float | None:
    found = pattern.search(detail)
    try:
        return float(found[1]) if found else None
    except ValueError:
        return None


def _code(code: int | None) -> str:
    return "unknown" if code is None else str(code)


def _became(kind: str | None) -> str:
    return "passed" if kind is None else f"failed by what it delivered: {kind}"


RULES: tuple[Rule, ...] = (
    ended_well,
    ended_badly,
    out_of_memory,
    deadline,
    measured,
)
