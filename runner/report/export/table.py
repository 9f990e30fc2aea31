"""The columns of an exported table: their names, contents and order.

The fixed columns come first, and every table has them. The columns of the records' own names follow, sorted:
``software.NAME``, ``count.NAME``, ``metric.NAME``. A value that a record lacks is None.
"""

import json
import statistics
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from msgspec import UNSET

from runner.records.measured import Episode
from runner.records.record import Record
from runner.records.store import newest_by_key
from runner.report.export.scalars import COLUMNS_OF_A_RECORD, COLUMNS_THAT_NAME_A_CELL

Value = str | int | float | bool | None
_RETURNS_OVER = 100
_STATISTICS: Mapping[str, tuple[type, Callable[[Sequence[float]], float]]] = {
    "median": (float, statistics.median),
    "mean": (float, statistics.fmean),
    "min": (float, min),
    "max": (float, max),
    "n": (int, len),
}


@dataclass(frozen=True, kw_only=True)
class Column:
    """A named column of one type: str, int, float or bool."""

    name: str
    type: type
    values: tuple[Value, ...]


def table_of_records(records: Sequence[Record]) -> tuple[Column, ...]:
    """One row for each record, in the given order.

    ``metric.NAME`` is summarised over the repetitions of that launch.
    """
    newest = {record.identifier for record in newest_by_key(records).values()}
    columns = [
        *(_column(each.name, each.type, records, each.value) for each in COLUMNS_OF_A_RECORD),
        _column("parameters", str, records, lambda record: _json(record.parameters)),
        _column("command", str, records, lambda record: _json(record.command)),
        _column("machine.simd", str, records, _simd),
        _column("machine.caches", str, records, lambda record: _json(record.machine.caches or None)),
        _column("launch.enforced", str, records, lambda record: " ".join(record.launch.limits.enforced)),
        _column("gate.passed", bool, records, _gate_passed),
        _column("gate.checks", int, records, lambda record: len(record.gate)),
        _column("gate.largest_share", float, records, _largest_share),
        _column("episodes.count", int, records, lambda record: _episodes(record, len)),
        _column("episodes.mean_return_last_100", float, records, lambda record: _episodes(record, _mean)),
        _column("newest_of_its_key", bool, records, lambda record: record.identifier in newest),
    ]
    for name in _names(record.software for record in records):
        columns.append(_column(f"software.{name}", str, records, _version(name)))
    for name in _names(record.counts for record in records):
        columns.append(_column(f"count.{name}", int, records, _count(name)))
    for name in _names(record.metrics for record in records):
        for statistic, (kind, function) in _STATISTICS.items():
            columns.append(_column(f"metric.{name}.{statistic}", kind, records, _summary(name, function)))
    return tuple(columns)


def table_of_repetitions(records: Sequence[Record]) -> tuple[Column, ...]:
    """One row for each repetition, counted from 1 in the order taken.

    A record without a measurement has no row. A metric with one value for each launch repeats in every row of its
    record.
    """
    rows = [(record, index) for record in records for index in range(_repetitions(record))]
    repeated = [record for record, _ in rows]
    columns = [_column(each.name, each.type, repeated, each.value) for each in COLUMNS_THAT_NAME_A_CELL]
    columns.append(Column(name="repetition", type=int, values=tuple(index + 1 for _, index in rows)))
    for name in _names(record.metrics for record in records):
        values = tuple(_one(record, name, index) for record, index in rows)
        columns.append(Column(name=f"metric.{name}", type=float, values=values))
    return tuple(columns)


def _column(name: str, kind: type, records: Iterable[Record], value: Callable[[Record], Any]) -> Column:
    found = (value(record) for record in records)
    # JSON has one kind of number, so 4 may mean 4.0, and 4.0 may mean 4.
    return Column(name=name, type=kind, values=tuple(None if each is None else kind(each) for each in found))


def _names(parts: Iterable[Mapping[str, Any]]) -> list[str]:
    return sorted({name for part in parts for name in part})


def _version(component: str) -> Callable[[Record], str | None]:
    return lambda record: record.software.get(component)


def _count(name: str) -> Callable[[Record], int | None]:
    return lambda record: record.counts.get(name)


def _summary(metric: str, function: Callable[[Sequence[float]], float]) -> Callable[[Record], Any]:
    def value(record: Record) -> float | None:
        values = record.values(metric)
        return function(values) if values else None

    return value


def _repetitions(record: Record) -> int:
    return max((len(record.values(name)) for name in record.metrics), default=0)


def _one(record: Record, metric: str, index: int) -> float | None:
    values = record.values(metric)
    if not isinstance(record.metrics.get(metric), tuple):
        index = 0
    return float(values[index]) if index < len(values) else None


def _simd(record: Record) -> str | None:
    found = record.machine.simd
    return None if found is None or found is UNSET else " ".join(found)


def _gate_passed(record: Record) -> bool | None:
    """None where no check was made."""
    return all(check.passed for check in record.gate) if record.gate else None


def _largest_share(record: Record) -> float | None:
    return max((check.share for check in record.gate if check.share is not None), default=None)


def _episodes(record: Record, function: Callable[[Sequence[Any]], float]) -> float | None:
    return function(record.played) if record.played else None


def _mean(episodes: Sequence[Episode]) -> float:
    """The mean over the last hundred episodes, or over all where a training played fewer."""
    return statistics.fmean(each.total for each in episodes[-_RETURNS_OVER:])


def _json(value: Any) -> str | None:
    return None if value is None else json.dumps(value, sort_keys=True, ensure_ascii=False)


def rows(table: Sequence[Column]) -> Iterator[tuple[Value, ...]]:
    """The table row by row."""
    yield from zip(*(column.values for column in table), strict=True)
