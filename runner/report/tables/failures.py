"""What a page says of failed cells below its table: whose they are, why, and how the log ends."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from runner.records.record import Record
from runner.report.tables.selection import Room

# A page must stay readable whatever a hundred failing launches print.
_MOST_SHOWN = 40
_MOST_LINES = 10
_LONGEST_LINE = 160


@dataclass(frozen=True, kw_only=True)
class FailedCells:
    """The failed cells of one implementation that share a kind of failure; detail and tail are the first one's.

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
    """What is shown of a room's failures; ``left_out`` counts the groups beyond the bound."""

    shown: tuple[FailedCells, ...]
    left_out: int


def failures(room: Room) -> Failures:
    """Every failed cell of ``room``, grouped, in the order of its table."""
    groups: dict[tuple[str, str], list[Record]] = {}
    for record in room.records:
        if record.failed:
            key = (record.implementation, str(record.data["failure"]["kind"]))
            groups.setdefault(key, []).append(record)
    found = [_group(room, records) for records in groups.values()]
    return Failures(shown=tuple(found[:_MOST_SHOWN]), left_out=max(0, len(found) - _MOST_SHOWN))


def _group(room: Room, records: Sequence[Record]) -> FailedCells:
    first = records[0].data
    cases = _distinct(record.case for record in records)
    everywhere = len(cases) > 1 and len(cases) == len({row.case.name for row in room.rows})
    seeds = _distinct(str(record.seed) for record in sorted(records, key=lambda record: record.seed))
    return FailedCells(
        implementation=records[0].implementation,
        where=f"{'all cases' if everywhere else ', '.join(cases)}, seed{'s' * (len(seeds) > 1)} {', '.join(seeds)}",
        kind=first["failure"]["kind"],
        detail=first["failure"]["detail"],
        log=f"logs/{first['launch']['id']}.log",
        tail=_tail(first["launch"]["stderr_tail"]),
    )


def _distinct(texts: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(texts))


def _tail(stderr: str) -> str:
    """The last lines, each cut; blank ones say nothing."""
    # A carriage return begins a line anew on a terminal: progress bars are made of them.
    lines = [line.rstrip() for line in stderr.replace("\r", "\n").split("\n") if line.strip()]
    return "\n".join(
        line if len(line) <= _LONGEST_LINE else f"{line[:_LONGEST_LINE]}…" for line in lines[-_MOST_LINES:]
    )
