"""The memory table: one row an implementation, since the cases of an operation share a process."""

from collections.abc import Iterable
from dataclasses import dataclass

from runner.record import Record
from runner.statistics import LEAST_PROCESSES, Interval, figure_interval
from runner.tables import units
from runner.tables.markdown import Table
from runner.tables.selection import Room
from runner.tables.units import NOTHING

_HEADERS = ("implementation", "process peak (VmHWM)", "rank", "cgroup peak", "n")


@dataclass(frozen=True, kw_only=True)
class _Peaks:
    """The peaks of one implementation's launches, in bytes."""

    implementation: str
    process: Interval | None
    cgroup: Interval | None


def memory_table(room: Room) -> Table:
    """Peaks of all implementations that passed; ranked by VmHWM where native and n is at least 5."""
    names = dict.fromkeys(row.implementation.name for row in room.rows if row.passed)
    peaks = [_peaks(room, name) for name in names]
    order = sorted(
        each.process.value
        for each in peaks
        if room.ranked and each.process is not None and each.process.n >= LEAST_PROCESSES
    )
    return Table(
        headers=_HEADERS,
        rows=tuple(
            (
                each.implementation,
                _text(each.process),
                _rank(room, each.process, order),
                _text(each.cgroup),
                str(each.process.n if each.process else 0),
            )
            for each in peaks
        ),
        right=frozenset({"rank"}),
    )


def _peaks(room: Room, implementation: str) -> _Peaks:
    records = [
        record for row in room.rows if row.implementation.name == implementation for record in row.passed
    ]
    return _Peaks(
        implementation=implementation,
        process=_figure(records, "vmhwm_bytes"),
        cgroup=_figure(records, "cgroup_peak_bytes"),
    )


def _figure(records: Iterable[Record], source: str) -> Interval | None:
    """Over launches: a launch's peak is the largest that any of its cases printed."""
    launches: dict[str, float] = {}
    for record in records:
        value = record.data["measurement"]["memory"][source]
        if value is not None:
            launch = str(record.data["launch"]["id"])
            launches[launch] = max(launches.get(launch, 0.0), float(value))
    return figure_interval([(value,) for value in launches.values()]) if launches else None


def _rank(room: Room, peak: Interval | None, order: list[float]) -> str:
    if peak is None:
        return NOTHING
    if not room.ranked:
        return "not ranked"
    return str(order.index(peak.value) + 1) if peak.n >= LEAST_PROCESSES else "n<5: not ranked"


def _text(peak: Interval | None) -> str:
    return "unknown" if peak is None else units.figure(peak, "bytes")
