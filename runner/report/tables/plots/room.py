"""The plot of a benchmark's page: how many times faster each implementation is than the reference, case by case."""

import math
from collections.abc import Iterator, Sequence

from runner.figures.comparison import natural_order
from runner.figures.statistics import LEAST_PROCESSES, Interval
from runner.matrix import Side
from runner.report.tables.plots.ratio import Ratio, ratio_plot
from runner.report.tables.selection import Room


def room_plot(rooms: Sequence[Room]) -> str | None:
    """The plot of the first ranked room that has ratios; None where there is none."""
    for room in rooms:
        ratios = list(_ratios(room)) if room.ranked else []
        if ratios:
            benchmark = room.benchmark
            return ratio_plot(
                f"{benchmark.title} on {room.platform.name}",
                f"how many times faster than {benchmark.reference.name}",
                ratios,
            )
    return None


def _ratios(room: Room) -> Iterator[Ratio]:
    shown = {row.case.name for row in room.rows}
    for case in sorted(shown, key=natural_order):
        reference = room.reference(case)
        for row in room.of_case(case):
            found = room.ratio(reference, row)
            if found is not None and found.n >= LEAST_PROCESSES and _has_a_place(found):
                strong = row.side in (Side.OURS, Side.KERNEL)
                yield Ratio(group=case, label=row.implementation.name, interval=found, strong=strong)


def _has_a_place(found: Interval) -> bool:
    """Whether it lies on a logarithmic axis. A record of unknown origin may hold a time of zero."""
    ends = [each for each in (found.low, found.value, found.high) if each is not None]
    return all(0 < each < math.inf for each in ends)
