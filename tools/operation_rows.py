"""The rows of operations in docs/results/operations.md: one for each benchmark that a publication holds, or for one case.

In each case our fastest implementation is compared with the fastest that is not ours and does the same work.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from runner.figures.statistics import Interval, Verdict, verdict
from runner.matrix import Side
from runner.report.tables import units
from runner.report.tables.selection import COMPETITORS, Room, Row

# The name of a case behind the link makes it a row of that case alone.
_LINK = (
    r"\| (?P<link>\[`(?P<benchmark>[a-z-]+)`\]\((?:\.\./)*(?P<folder>results/published/[^/]+)"
    r"/tables/(?P<profile>[a-z]+)/[a-z-]+\.md\)(?:, limits `(?P<limits>[a-z]+)`)?(?: (?P<case>[\w=.-]+))?)"
)
MACHINE = r" \| (?P<machine>[^|]*?)(?:, loaded in \d+ of \d+ launches)? \|"
ROW = re.compile(_LINK + MACHINE + r"(?: [^|]* \|){4,5}")


@dataclass(frozen=True, kw_only=True)
class _Lead:
    case: str
    competitor: str
    ratio: Interval

    def __str__(self) -> str:
        return f"{self.case}: {units.times(self.ratio)}, {self.competitor}{unless_faster(self.ratio)}"


def unless_faster(ratio: Interval) -> str:
    """The word behind a ratio that is no lead of ours; empty behind a lead."""
    found = verdict(ratio)
    return "" if found is Verdict.FASTER else f", {found.value}"


def figures(room: Room) -> tuple[str, str, str, str, str]:
    """Of a row: the cases, how many are inconclusive or slower, the narrowest lead, the widest one, and other work.

    Raises:
        ValueError: no case has times of ours and of a competitor.
    """
    leads = sorted(_leads(room), key=lambda lead: lead.ratio.value)
    if not leads:
        raise ValueError(f"no case of {room.benchmark.name} has times of ours and of a competitor")
    verdicts = [verdict(lead.ratio) for lead in leads]
    behind = [
        f"{verdicts.count(each)} {each.value}"
        for each in (Verdict.INCONCLUSIVE, Verdict.SLOWER)
        if each in verdicts
    ]
    return str(len(leads)), ", ".join(behind) or "none", str(leads[0]), str(leads[-1]), _other_work(room)


def figures_of_case(room: Room, case: str) -> tuple[str, str, str, str]:
    """Of a row: our time, the nearest competitor with its time, the ratio, and all others by their times.

    Raises:
        ValueError: the case has no ratio of ours and a competitor.
    """
    ours, nearest = next((both for both in compared(room) if both[0].case.name == case), (None, None))
    ratio = None if ours is None else room.ratio(nearest, ours)
    if ours is None or nearest is None or ratio is None:
        raise ValueError(f"{room.benchmark.name} {case} has no ratio of ours and a competitor")
    others = []
    for row in room.of_case(case):
        figure = row.figure(room.benchmark.headline)
        if row.side in COMPETITORS and row is not nearest and figure is not None:
            unranked = "" if row.same_work else " (other work)"
            others.append((figure.value, f"{row.implementation.name} {time(room, row)}{unranked}"))
    return (
        time(room, ours),
        named(room, nearest),
        f"{units.times(ratio)}{unless_faster(ratio)}",
        ", ".join(text for _, text in sorted(others)) or "—",
    )


def time(room: Room, row: Row) -> str:
    """The headline figure of a row.

    Raises:
        ValueError: it has none.
    """
    figure = row.figure(room.benchmark.headline)
    if figure is None:
        raise ValueError(f"{room.benchmark.name} {row.implementation.name} has no time")
    return units.figure_value(figure.value, room.benchmark.headline)


def named(room: Room, row: Row) -> str:
    """The same behind the implementation's name."""
    return f"{row.implementation.name}, {time(room, row)}"


def _other_work(room: Room) -> str:
    """The competitor whose work differs and whose time is the least beside ours."""
    metric = room.benchmark.headline
    found = []
    for case in room.benchmark.cases:
        ours = room.fastest(case, [Side.OURS])
        mine = None if ours is None else ours.figure(metric)
        for row in room.of_case(case):
            theirs = None if row.side not in COMPETITORS or row.same_work else row.figure(metric)
            if mine is not None and theirs is not None:
                times = [units.figure_value(each.value, metric) for each in (theirs, mine)]
                told = f"{case}: {row.implementation.name}, {times[0]}, ours {times[1]}"
                found.append((theirs.value / mine.value, told))
    return min(found)[1] if found else "—"


def compared(room: Room) -> Iterator[tuple[Row, Row]]:
    """Ours and its fastest competitor, of each case that has both."""
    for case in room.benchmark.cases:
        ours = room.fastest(case, [Side.OURS])
        competitor = None if ours is None else room.competitor(ours)
        if ours is not None and competitor is not None:
            yield ours, competitor


def _leads(room: Room) -> Iterator[_Lead]:
    for ours, competitor in compared(room):
        ratio = room.ratio(competitor, ours)
        if ratio is not None:
            yield _Lead(case=ours.case.name, competitor=competitor.implementation.name, ratio=ratio)
