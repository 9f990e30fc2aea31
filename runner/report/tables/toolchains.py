"""What another toolchain changes: ours against the reference's side under each toolchain, and whether ours agrees."""

from collections.abc import Sequence

from runner.figures.statistics import Verdict, verdict
from runner.matrix import Matrix, Side
from runner.report.tables import texts, units
from runner.report.tables.agreement import agreement_with
from runner.report.tables.markdown import Table
from runner.report.tables.selection import Room, Row
from runner.report.tables.units import NOTHING


def toolchains_table(matrix: Matrix, rooms: Sequence[Room]) -> Table:
    """A column for each toolchain that was run, and a row for each case that several of them ran.

    Args:
        matrix: names the toolchains.
        rooms: of one benchmark.
    """
    run = [room for room in rooms if room.records]
    names = [name for name in matrix.toolchains if any(room.toolchain.name == name for room in run)]
    places = dict.fromkeys((room.platform.name, room.limits.name) for room in run)
    beside = [
        {room.toolchain.name: room for room in run if (room.platform.name, room.limits.name) == place}
        for place in places
    ]
    return Table(
        headers=(
            "case",
            "platform",
            *(f"{name}: PyTorch {matrix.toolchains[name].pytorch}" for name in names),
            "verdicts",
            "bytes of ours",
        ),
        rows=tuple(
            _row(matrix, case, names, by_name)
            for by_name in beside
            if len(by_name) > 1
            for case in next(iter(by_name.values())).benchmark.cases
            if all(any(row.passed for row in room.of_case(case)) for room in by_name.values())
        ),
    )


def _row(matrix: Matrix, case: str, names: Sequence[str], rooms: dict[str, Room]) -> tuple[str, ...]:
    first, *others = rooms.values()
    return (
        case,
        texts.place(matrix, first),
        *(_compared(rooms[name], case) if name in rooms else "not run" for name in names),
        _verdicts([_verdict(room, case) for room in rooms.values()]),
        _bytes(first, others, case),
    )


def _sides(room: Room, case: str) -> tuple[Row, Row] | None:
    """The fastest of ours and of the reference's variants; None where a side has no time."""
    ours, reference = room.fastest(case, [Side.OURS]), room.fastest(case, [Side.REFERENCE])
    return None if ours is None or reference is None else (ours, reference)


def _compared(room: Room, case: str) -> str:
    sides = _sides(room, case)
    if sides is None:
        return "no time of both sides"
    ours, reference = sides
    times = f"{texts.timed(room, ours)} against {texts.timed(room, reference)}"
    ratio = room.ratio(reference, ours)
    return f"{texts.NOT_RANKED}: {times}" if ratio is None else f"{units.ratio(ratio)}, {times}"


def _verdict(room: Room, case: str) -> Verdict:
    sides = _sides(room, case)
    ratio = None if sides is None else room.ratio(sides[1], sides[0])
    return Verdict.NOT_RANKED if ratio is None else verdict(ratio)


def _verdicts(found: Sequence[Verdict]) -> str:
    if Verdict.NOT_RANKED in found:
        return NOTHING
    return "the same" if len(set(found)) == 1 else "differ"


def _bytes(first: Room, others: Sequence[Room], case: str) -> str:
    """Whether the fastest of ours has the same outputs under all toolchains."""
    ours = first.fastest(case, [Side.OURS])
    return NOTHING if ours is None else agreement_with(first, ours, others)
