"""What another profiling report recommends and estimates, beside what was measured here.

A recommendation is measured where the matrix has a variant that follows it. Where none can, the phases that it could make
shorter bound what it is worth.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from runner.figures.statistics import LEAST_PROCESSES, Interval
from runner.report.tables.markdown import Table
from runner.report.tables.profiling.measured import Profiled
from runner.report.tables.selection import Room, Row
from runner.report.tables.units import NOTHING

_FILE = Path(__file__).with_name("recommendations.json")
NOT_MEASURED = "not measured here"


@dataclass(frozen=True, kw_only=True)
class Recommendation:
    """One recommendation.

    Attributes:
        number: in the report that makes it.
        what: the change.
        target: the training that it is for.
        estimate: what that report expects to save.
        benchmark: which one has the variant or the phases.
        base: the implementation without the change.
        variant: the implementation with it.
        profiled: the instrumented implementation whose phases bound the effect.
        phases: those that it could make shorter.
        why: why nothing is measured.
        remark: what differs from that report's own trainer.
    """

    number: int
    what: str
    target: str
    estimate: str
    benchmark: str | None = None
    base: str | None = None
    variant: str | None = None
    profiled: str | None = None
    phases: tuple[str, ...] = ()
    why: str | None = None
    remark: str | None = None


@cache
def recommendations() -> tuple[str, tuple[Recommendation, ...]]:
    """The name of the report, and its recommendations in its order."""
    data: dict[str, Any] = json.loads(_FILE.read_text(encoding="utf-8"))
    found = (
        Recommendation(**{**each, "phases": tuple(each.get("phases", ()))})
        for each in data["recommendations"]
    )
    return str(data["source"]), tuple(found)


def recommendation_table(rooms: Mapping[str, Room | None], found: Mapping[str, Sequence[Profiled]]) -> Table:
    """A row for each recommendation: its estimate, and its measured effect or bound.

    Args:
        rooms: of one place, by the benchmark's name; None where it has no such room.
        found: the instrumented rows of each.
    """
    return Table(
        headers=("no.", "change", "for", "estimated to save", "measured to save", "n", "remark"),
        rows=tuple(
            (
                str(each.number),
                each.what,
                each.target,
                each.estimate,
                *_measured(each, rooms.get(each.benchmark or ""), found.get(each.benchmark or "", ())),
            )
            for each in recommendations()[1]
        ),
        right=frozenset({"no.", "n"}),
    )


def _measured(
    recommendation: Recommendation, room: Room | None, found: Sequence[Profiled]
) -> tuple[str, str, str]:
    if recommendation.variant is None:
        return _bound(recommendation, found), NOTHING, recommendation.why or ""
    remark = recommendation.remark or f"{recommendation.variant} against {recommendation.base}"
    rows = [_row(room, name) for name in (recommendation.base, recommendation.variant)]
    ratio = room.ratio(rows[0], rows[1]) if room is not None and rows[1] is not None else None
    if ratio is None:
        return NOT_MEASURED, NOTHING, remark
    return saved(ratio), str(ratio.n), remark


def _bound(recommendation: Recommendation, found: Sequence[Profiled]) -> str:
    """What the phases allow at most, where they are known."""
    wanted = [each for each in found if each.row.implementation.name == recommendation.profiled]
    if not wanted:
        return NOT_MEASURED
    share = wanted[0].share_of(*recommendation.phases)
    return f"{NOT_MEASURED}; at most {100 * share:.1f} %: {', '.join(recommendation.phases)}"


def saved(ratio: Interval) -> str:
    """Of a base's time what a variant saves, from how many times faster it is: ``3.1 % (1.0 to 5.2)``."""
    text = f"{_saved(ratio.value):.1f} %"
    if ratio.low is not None and ratio.high is not None:
        text += f" ({_saved(ratio.low):.1f} to {_saved(ratio.high):.1f})"
    return text if ratio.ranked else f"{text}, n<{LEAST_PROCESSES}: not ranked"


def _saved(times: float) -> float:
    return 100 * (1 - 1 / times)


def _row(room: Room | None, name: str | None) -> Row | None:
    rows = () if room is None else room.rows
    return next((row for row in rows if row.implementation.name == name), None)
