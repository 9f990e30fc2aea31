"""What another profiling report recommends and estimates, beside what was measured here.

A recommendation is measured where the matrix has a variant that follows it. A variant of other work is a case of its own,
which has no ratio to the base: both figures are shown. Where no variant can follow, the phases that it could make shorter
bound what it is worth.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from runner.figures.statistics import LEAST_PROCESSES, Interval
from runner.report.tables import units
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
        variant_case: the case that the variant is measured in, whose work differs; that of the base where it is None. The
            base is measured in the benchmark's first case.
        profiled: the instrumented implementation whose phases bound the effect of the change alone.
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
    variant_case: str | None = None
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
    bound = _bound(recommendation, found)
    if recommendation.variant is None:
        return _joined(NOT_MEASURED, bound), NOTHING, recommendation.why or ""
    remark = recommendation.remark or f"{recommendation.variant} against {recommendation.base}"
    effect = None if room is None else _effect(recommendation, room)
    text, n = effect or (NOT_MEASURED, NOTHING)
    return _joined(text, bound), n, remark


def _effect(recommendation: Recommendation, room: Room) -> tuple[str, str] | None:
    """What the variant saves, and the number of processes; None where it or the base has no figure here."""
    first = next(iter(room.benchmark.cases))
    base = _row(room, first, recommendation.base)
    variant = _row(room, recommendation.variant_case or first, recommendation.variant)
    if base is None or variant is None:
        return None
    if recommendation.variant_case is not None:
        return _beside(room, base, variant)
    ratio = room.ratio(base, variant)
    return None if ratio is None else (saved(ratio), str(ratio.n))


def _beside(room: Room, base: Row, variant: Row) -> tuple[str, str] | None:
    """The times of different work, and the smaller number of processes. Their nonces differ, so they have no ratio."""
    metric = room.benchmark.headline
    mine, other = (row.figure(metric) if row.judged else None for row in (variant, base))
    if mine is None or other is None:
        return None
    text = f"{units.figure(mine, metric)} instead of {units.figure(other, metric)}: not ranked"
    return text, str(min(mine.n, other.n))


def _bound(recommendation: Recommendation, found: Sequence[Profiled]) -> str:
    """What the phases allow at most; empty where they are unknown."""
    wanted = [each for each in found if each.row.implementation.name == recommendation.profiled]
    if not wanted:
        return ""
    share = wanted[0].share_of(*recommendation.phases)
    most = share.value if share.high is None else share.high
    return f"at most {100 * most:.1f} %: {', '.join(recommendation.phases)}"


def _joined(text: str, bound: str) -> str:
    return f"{text}; {bound}" if bound else text


def saved(ratio: Interval) -> str:
    """Of a base's time what a variant saves, from how many times faster it is: ``3.1 % (1.0 to 5.2)``."""
    text = f"{_saved(ratio.value):.1f} %"
    if ratio.low is not None and ratio.high is not None:
        text += f" ({_saved(ratio.low):.1f} to {_saved(ratio.high):.1f})"
    return text if ratio.ranked else f"{text}, n<{LEAST_PROCESSES}: not ranked"


def _saved(times: float) -> float:
    return 100 * (1 - 1 / times)


def _row(room: Room, case: str, name: str | None) -> Row | None:
    return next((row for row in room.of_case(case) if row.implementation.name == name), None)
