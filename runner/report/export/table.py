"""The columns of an exported table: their names, what they hold, and in which order they stand.

The fixed columns come first and are there whatever the store holds; behind them, sorted by name, those that its
records bring: ``software.NAME``, ``count.NAME``, ``metric.NAME``. A value that a record does not have is None.
"""

import json
import statistics
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from runner.records.record import Record
from runner.records.store import newest_by_key

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
    """One row a record, in the order given. ``metric.NAME`` is summarised over the repetitions of that launch."""
    newest = {record.identifier for record in newest_by_key(records).values()}
    columns = [
        *(_column(name, kind, records, _at(path)) for name, kind, path in _FIXED),
        _column("parameters", str, records, lambda record: _json(record.data["parameters"])),
        _column("command", str, records, lambda record: _json(record.data["command"])),
        _column("machine.simd", str, records, _simd),
        _column("machine.caches", str, records, lambda record: _json(record.data["machine"].get("caches"))),
        _column("launch.enforced", str, records, lambda record: " ".join(_limits(record)["enforced"])),
        _column("gate.passed", bool, records, _gate_passed),
        _column("gate.checks", int, records, lambda record: len(record.data["gate"])),
        _column("gate.largest_share", float, records, _largest_share),
        _column("episodes.count", int, records, lambda record: _episodes(record, len)),
        _column("episodes.mean_return_last_100", float, records, lambda record: _episodes(record, _mean)),
        _column("newest_of_its_key", bool, records, lambda record: record.identifier in newest),
    ]
    for name in _names(record.data["software"] for record in records):
        columns.append(_column(f"software.{name}", str, records, _at(("software", name))))
    for name in _names(_part(record, "counts") for record in records):
        columns.append(_column(f"count.{name}", int, records, _at(("measurement", "counts", name))))
    for name in _names(_part(record, "metrics") for record in records):
        for statistic, (kind, function) in _STATISTICS.items():
            columns.append(_column(f"metric.{name}.{statistic}", kind, records, _summary(name, function)))
    return tuple(columns)


def table_of_repetitions(records: Sequence[Record]) -> tuple[Column, ...]:
    """One row a repetition, counted from 1 in the order taken; a record without a measurement has none.

    A metric with one value a launch stands in every row of its record.
    """
    rows = [(record, index) for record in records for index in range(_repetitions(record))]
    repeated = [record for record, _ in rows]
    columns = [_column(name, kind, repeated, _at(path)) for name, kind, path in _NAMING]
    columns.append(Column(name="repetition", type=int, values=tuple(index + 1 for _, index in rows)))
    for name in _names(_part(record, "metrics") for record in records):
        values = tuple(_one(record, name, index) for record, index in rows)
        columns.append(Column(name=f"metric.{name}", type=float, values=values))
    return tuple(columns)


# Where a value stands in a record, for the columns that are no more than that.
_Fixed = tuple[str, type, tuple[str, ...]]
_NAMING: tuple[_Fixed, ...] = (
    ("id", str, ("id",)),
    ("key", str, ("key",)),
    ("profile", str, ("profile",)),
    ("benchmark", str, ("cell", "benchmark")),
    ("case", str, ("cell", "case")),
    ("implementation", str, ("cell", "implementation")),
    ("toolchain", str, ("cell", "toolchain")),
    ("platform", str, ("cell", "platform")),
    ("limits", str, ("cell", "limits")),
    ("seed", int, ("cell", "seed")),
    ("execution.kind", str, ("execution", "kind")),
)
_FIXED: tuple[_Fixed, ...] = (
    *_NAMING,
    ("execution.emulator", str, ("execution", "emulator")),
    ("created_at", str, ("created_at",)),
    ("schema", int, ("schema",)),
    ("content_sha256", str, ("content_sha256",)),
    ("determinism", str, ("determinism",)),
    ("failure.kind", str, ("failure", "kind")),
    ("failure.detail", str, ("failure", "detail")),
    *(
        (f"image.{name}", str, ("image", name))
        for name in (
            *("target", "architecture", "identity", "execution_hash", "config_digest", "manifest_digest"),
        )
    ),
    *(
        (f"machine.{name}", kind, ("machine", name))
        for name, kind in {
            "cpu_model": str,
            "architecture": str,
            "logical_cpus": int,
            "physical_cores": int,
            "memory_bytes": int,
            "swap_bytes": int,
            "os": str,
            "kernel": str,
            "daemon": str,
            "hypervisor": bool,
            "governor": str,
            "turbo": bool,
            "smt": bool,
        }.items()
    ),
    *(
        (f"launch.{name}", kind, ("launch", name))
        for name, kind in {
            "id": str,
            "executor": str,
            "started_at": str,
            "wall_seconds": float,
            "deadline_seconds": float,
            "exit_code": int,
            "out_of_memory": bool,
        }.items()
    ),
    *(
        (f"launch.{name}", kind, ("launch", "limits", name))
        for name, kind in {"cpuset": str, "memory_bytes": int, "pids": int, "threads": int}.items()
    ),
    *(
        (f"state.{name}", kind, ("launch", "state", name))
        for name, kind in {
            "load_1m": float,
            "memory_available_bytes": int,
            "swap_used_bytes": int,
            "cpu_pressure_avg10": float,
            "throttle_count": int,
            "cpu_mhz": float,
        }.items()
    ),
    ("memory.vmhwm_bytes", int, ("measurement", "memory", "vmhwm_bytes")),
    ("memory.cgroup_peak_bytes", int, ("measurement", "memory", "cgroup_peak_bytes")),
)


def _column(name: str, kind: type, records: Iterable[Record], value: Callable[[Record], Any]) -> Column:
    found = (value(record) for record in records)
    # JSON has one kind of number: 4 may stand where 4.0 is meant, and the other way round.
    return Column(name=name, type=kind, values=tuple(None if each is None else kind(each) for each in found))


def _at(path: Sequence[str]) -> Callable[[Record], Any]:
    def value(record: Record) -> Any:
        found: Any = record.data
        for part in path:
            found = None if found is None else found.get(part)
        return found

    return value


def _names(parts: Iterable[Mapping[str, Any]]) -> list[str]:
    return sorted({name for part in parts for name in part})


def _part(record: Record, name: str) -> Mapping[str, Any]:
    part: Mapping[str, Any] = (record.data["measurement"] or {}).get(name, {})
    return part


def _summary(metric: str, function: Callable[[Sequence[float]], float]) -> Callable[[Record], Any]:
    def value(record: Record) -> float | None:
        values = record.values(metric)
        return function(values) if values else None

    return value


def _repetitions(record: Record) -> int:
    return max((len(record.values(name)) for name in _part(record, "metrics")), default=0)


def _one(record: Record, metric: str, index: int) -> float | None:
    values = record.values(metric)
    if not isinstance(_part(record, "metrics").get(metric), list):
        index = 0
    return float(values[index]) if index < len(values) else None


def _limits(record: Record) -> Mapping[str, Any]:
    limits: Mapping[str, Any] = record.data["launch"]["limits"]
    return limits


def _simd(record: Record) -> str | None:
    found = record.data["machine"].get("simd")
    return None if found is None else " ".join(found)


def _gate_passed(record: Record) -> bool | None:
    """None where no check was made, because there was nothing to check."""
    checks = record.data["gate"]
    return all(check["passed"] for check in checks) if checks else None


def _largest_share(record: Record) -> float | None:
    return max((check["share"] for check in record.data["gate"] if check["share"] is not None), default=None)


def _episodes(record: Record, function: Callable[[Sequence[Any]], float]) -> float | None:
    return function(record.episodes) if record.episodes else None


def _mean(episodes: Sequence[Mapping[str, Any]]) -> float:
    """Over the last hundred, or all of them where a training played fewer."""
    return statistics.fmean(each["return"] for each in episodes[-_RETURNS_OVER:])


def _json(value: Any) -> str | None:
    return None if value is None else json.dumps(value, sort_keys=True, ensure_ascii=False)


def rows(table: Sequence[Column]) -> Iterator[tuple[Value, ...]]:
    """The table row by row."""
    yield from zip(*(column.values for column in table), strict=True)
