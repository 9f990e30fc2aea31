"""The failed cells below a page's table: their implementation, the reason, and the end of the log."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from runner.records.measured import CellFailure
from runner.records.record import Record
from runner.report.tables.selection import Room

# A page must stay readable with the output of a hundred failed launches.
_MOST_SHOWN = 40
_MOST_LINES = 10
_LONGEST_LINE = 160


@dataclass(frozen=True, kw_only=True)
class FailedCells:
    """The failed cells of one implementation with one kind of failure. Detail and tail are the first cell's.

    ``tail`` is empty where nothing was printed on stderr; ``log`` is a path below the results directory.
    """

    implementation: str
    where: str
    kind: str
    detail: str
    log: str
    tail: str


@dataclass(frozen=True, kw_only=True)
class Failures:
    """The shown failures of a room. ``left_out`` counts the groups beyond the bound."""

    shown: tuple[FailedCells, ...]
    left_out: int


def failures(room: Room) -> Failures:
    """Every failed cell of ``room``, grouped, in the order of its table."""
    groups: dict[tuple[str, str], list[tuple[Record, CellFailure]]] = {}
    for record in room.records:
        if record.failure is not None:
            key = (record.implementation, record.failure.kind)
            groups.setdefault(key, []).append((record, record.failure))
    found = [_group(room, members) for members in groups.values()]
    return Failures(shown=tuple(found[:_MOST_SHOWN]), left_out=max(0, len(found) - _MOST_SHOWN))


def _group(room: Room, members: Sequence[tuple[Record, CellFailure]]) -> FailedCells:
    records = [record for record, _ in members]
    first, failure = members[0]
    others = _distinct(
        str(record.seed)
        for row in room.rows
        if (row.case.name, row.implementation.name) == (first.case, first.implementation)
        for record in row.disbelieved
    )
    told = f"; its other seeds, {', '.join(others)}, do not count" if others else ""
    cases = _distinct(record.case for record in records)
    everywhere = len(cases) > 1 and len(cases) == len({row.case.name for row in room.rows})
    seeds = _distinct(str(record.seed) for record in sorted(records, key=lambda record: record.seed))
    return FailedCells(
        implementation=first.implementation,
        where=f"{'all cases' if everywhere else ', '.join(cases)}, seed{'s' * (len(seeds) > 1)} {', '.join(seeds)}",
        kind=failure.kind,
        detail=failure.detail + told,
        log=f"logs/{first.launch.id}.log",
        tail=_tail(first.launch.stderr_tail),
    )


def _distinct(texts: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(texts))


def _tail(stderr: str) -> str:
    """The last lines, each cut, without blank lines."""
    # On a terminal a carriage return goes back to the start of the line, as in progress bars.
    lines = [line.rstrip() for line in stderr.replace("\r", "\n").split("\n") if line.strip()]
    return "\n".join(
        line if len(line) <= _LONGEST_LINE else f"{line[:_LONGEST_LINE]}…" for line in lines[-_MOST_LINES:]
    )
