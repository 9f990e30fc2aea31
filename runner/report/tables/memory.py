"""The memory table: one row for each process.

An operation's cases share a process; each case of a training has one.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from runner.figures.statistics import LEAST_PROCESSES, Interval, figure_interval
from runner.matrix import Implementation
from runner.report.tables import units
from runner.report.tables.markdown import Table
from runner.report.tables.selection import Room, Row
from runner.report.tables.texts import NOT_RANKED, OTHER_WORK
from runner.report.tables.units import NOTHING

_HEADERS = ("implementation", "process peak (VmHWM)", "rank", "cgroup peak", "n")


@dataclass(frozen=True, kw_only=True)
class _Peaks:
    """The peaks of the launches of one implementation, or of it at one case, in bytes."""

    case: str | None
    implementation: Implementation
    process: Interval | None
    cgroup: Interval | None


def memory_table(room: Room, *, by_case: bool = False) -> Table:
    """Peaks of all implementations that passed.

    VmHWM ranks them where execution is native and n is at least 5.

    Args:
        room: the room of the rows.
        by_case: a row for each case, which is ranked within it.
    """
    found: dict[tuple[str | None, str], list[Row]] = {}
    for row in room.rows:
        if row.passed:
            case = row.case.name if by_case else None
            found.setdefault((case, row.implementation.name), []).append(row)
    peaks = [_peaks(case, rows) for (case, _), rows in found.items()]
    return Table(
        headers=("case", *_HEADERS) if by_case else _HEADERS,
        rows=tuple(
            (
                *([each.case] if each.case is not None else []),
                each.implementation.name,
                _text(each.process),
                _rank(room, each, peaks),
                _text(each.cgroup),
                str(each.process.n if each.process else 0),
            )
            for each in peaks
        ),
        right=frozenset({"rank"}),
    )


def _peaks(case: str | None, rows: Sequence[Row]) -> _Peaks:
    records = [record for row in rows for record in row.passed]
    return _Peaks(
        case=case,
        implementation=rows[0].implementation,
        process=_figure((record.launch.id, record.memory.vmhwm_bytes) for record in records),
        cgroup=_figure((record.launch.id, record.memory.cgroup_peak_bytes) for record in records),
    )


def _figure(peaks: Iterable[tuple[str, int | None]]) -> Interval | None:
    """The peaks of launches, by their names. A launch's peak is the largest that any of its cases printed."""
    launches: dict[str, float] = {}
    for launch, value in peaks:
        if value is not None:
            launches[launch] = max(launches.get(launch, 0.0), float(value))
    return figure_interval([(value,) for value in launches.values()]) if launches else None


def _rank(room: Room, mine: _Peaks, peaks: Sequence[_Peaks]) -> str:
    if mine.process is None:
        return NOTHING
    if not room.ranked:
        return NOT_RANKED
    if mine.implementation.differs:
        return OTHER_WORK
    if mine.process.n < LEAST_PROCESSES:
        return "n<5: not ranked"
    smaller = [
        each
        for each in peaks
        if each.case == mine.case
        and not each.implementation.differs
        and each.process is not None
        and each.process.n >= LEAST_PROCESSES
        and each.process.value < mine.process.value
    ]
    return str(len(smaller) + 1)


def _text(peak: Interval | None) -> str:
    return "unknown" if peak is None else units.figure(peak, "bytes")
