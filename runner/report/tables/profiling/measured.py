"""What an instrumented run says of its phases: seconds, stretches and crossings, read from its record's figures.

An instrumented implementation has the name of the one that it divides, with ``-phases`` behind it. It reads a clock at
each border, so its work differs and it is unranked.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from runner.figures.comparison import one_run
from runner.figures.statistics import Interval, figure_interval, ratio_interval
from runner.records.record import Record
from runner.report.tables.selection import Room, Row

SUFFIX = "-phases"
# Of a whole, what its phases may miss or have too much; and what may belong to no named phase.
MOST_MISSED, MOST_OTHER = 0.02, 0.05
OTHER = "other"
LAYERS = {"rust": "Rust", "python": "Python", "pytorch": "PyTorch"}
_PHASE = re.compile(r"phase_(?P<layer>rust|python|pytorch)_(?P<name>[a-z0-9_]+)_seconds")
_CROSSINGS = "crossings_"


@dataclass(frozen=True, kw_only=True)
class Phase:
    """A phase over all processes of a row.

    Attributes:
        name: as the page shows it.
        layer: whose code works in it.
        seconds: what it took in all.
        shares: of the training's time, in each process.
        stretches: how often it ended, in the first process.
    """

    name: str
    layer: str
    seconds: Interval
    shares: tuple[float, ...]
    stretches: int

    @property
    def share(self) -> Interval:
        """Of the training's time, as a figure."""
        return _figure(self.shares)


@dataclass(frozen=True, kw_only=True)
class Profiled:
    """An instrumented row, its phases by falling share, and what the whole is held to.

    Attributes:
        row: the instrumented implementation at one case.
        phases: its phases.
        missed: the largest difference of the sum of a process's phases from its training's time, as a share of that.
        crossings: how often each function of our module was called, in the first process.
        cost: how many times longer the instrumented training took than the uninstrumented one; None where that has no
            figure of the same run.
    """

    row: Row
    phases: tuple[Phase, ...]
    missed: float
    crossings: tuple[tuple[str, int], ...]
    cost: Interval | None

    @property
    def name(self) -> str:
        """The implementation that is divided."""
        return self.row.implementation.name.removesuffix(SUFFIX)

    @property
    def other(self) -> float:
        """The largest share of a process that belongs to no named phase."""
        return max(self._together(lambda phase: phase.name == OTHER))

    @property
    def adds_up(self) -> bool:
        """Whether the phases are the whole, and nearly all of it has a name."""
        return self.missed <= MOST_MISSED and self.other <= MOST_OTHER

    def layer(self, layer: str) -> Interval:
        """A layer's share of the time."""
        return _figure(self._together(lambda phase: phase.layer == layer))

    def share_of(self, *names: str) -> Interval:
        """The share of some phases together."""
        return _figure(self._together(lambda phase: phase.name in names))

    def _together(self, wanted: Callable[[Phase], bool]) -> list[float]:
        """In each process what some phases take together: a sum of medians is no share of any process."""
        of_each = zip(*(phase.shares for phase in self.phases if wanted(phase)), strict=True)
        return [sum(shares) for shares in of_each] or [0.0] * len(self.phases[0].shares)


def _figure(shares: Sequence[float]) -> Interval:
    return figure_interval([(share,) for share in shares])


def profiled(room: Room) -> tuple[Profiled, ...]:
    """The instrumented rows of a room, in the order of the matrix."""
    found = (_profiled(room, row) for row in room.rows)
    return tuple(each for each in found if each is not None)


def is_profiled(room: Room) -> bool:
    """Whether `profiled` finds a row, without its figures."""
    return any(_instrumented(room, row) for row in room.rows)


def _instrumented(room: Room, row: Row) -> list[Record]:
    """The records of a row that divide a training; none where the row is not instrumented."""
    if not row.implementation.name.endswith(SUFFIX):
        return []
    metric = room.benchmark.headline
    return [each for each in row.passed if sum(each.values(metric)) > 0 and _phases_of(each)]


def _profiled(room: Room, row: Row) -> Profiled | None:
    metric, records = room.benchmark.headline, _instrumented(room, row)
    if not records:
        return None
    totals = [sum(each.values(metric)) for each in records]
    told = [_phases_of(each) for each in records]
    # A phase that never occurred in a process took no time there.
    keys = dict.fromkeys(key for each in told for key in each)
    phases = [
        Phase(
            name=name.replace("_", " "),
            layer=LAYERS[layer],
            seconds=figure_interval([(each.get((layer, name), 0.0),) for each in told]),
            shares=tuple(
                each.get((layer, name), 0.0) / total for each, total in zip(told, totals, strict=True)
            ),
            stretches=records[0].counts.get(f"laps_{layer}_{name}", 0),
        )
        for layer, name in keys
    ]
    missed = [abs(sum(each.values()) / total - 1) for each, total in zip(told, totals, strict=True)]
    return Profiled(
        row=row,
        phases=tuple(sorted(phases, key=lambda each: (-each.share.value, each.name))),
        missed=max(missed),
        crossings=_crossings_of(records[0]),
        cost=_cost(room, row),
    )


def _phases_of(record: Record) -> dict[tuple[str, str], float]:
    """The seconds of each phase, by layer and name."""
    found = ((_PHASE.fullmatch(name), name) for name in record.metrics)
    return {
        (match["layer"], match["name"]): sum(record.values(name))
        for match, name in found
        if match is not None
    }


def _crossings_of(record: Record) -> tuple[tuple[str, int], ...]:
    names = sorted(name for name in record.counts if name.startswith(_CROSSINGS))
    return tuple(
        (name.removeprefix(_CROSSINGS).replace("_", " "), int(record.counts[name])) for name in names
    )


def _cost(room: Room, row: Row) -> Interval | None:
    plain = divided(room, row)
    if plain is None or not room.ranked or not (row.judged and plain.judged):
        return None
    if not one_run(row.passed, plain.passed):
        return None
    sides: Sequence[tuple[tuple[float, ...], ...]] = [
        each.processes(room.benchmark.headline) for each in (row, plain)
    ]
    if not all(sides):
        return None
    try:
        return ratio_interval(sides[0], sides[1])
    except ValueError:
        # A record of unknown origin may hold zero or an impossible value.
        return None


def divided(room: Room, row: Row) -> Row | None:
    """The uninstrumented row that an instrumented one divides; None where the matrix has none."""
    name = row.implementation.name.removesuffix(SUFFIX)
    return next((each for each in room.of_case(row.case.name) if each.implementation.name == name), None)
