"""A regression check: the times of two sets of records of one machine, cell by cell, then and now.

Nothing runs again. Two runs of one machine differ a little without any change of the code, because a run has a moment
of its own. So a cell is slower only where its whole interval lies beyond a margin.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from enum import Enum
from typing import Any

from runner.figures.comparison import (
    Setting,
    believed,
    by_setting,
    improvement,
    natural_order,
    newest_work,
    processes,
)
from runner.figures.statistics import Interval, figure_interval
from runner.planning.cpu_differences import unlike_cpus
from runner.records.order import oldest_first
from runner.records.record import Record
from runner.report.tables.units import bounds, significant
from runner.system import machine
from runner.system.errors import NothingToCompare
from runner.verify.obstacles import loaded, other_machine, too_short


class Change(Enum):
    """The verdict on one cell."""

    FASTER = "faster"
    SAME = "same"
    SLOWER = "slower"
    FAILS = "fails now"
    INCONCLUSIVE = "inconclusive"


@dataclass(frozen=True, kw_only=True)
class Changed:
    """One cell then and now: it is ``ratio`` times as fast as it was. ``why`` explains a verdict without a ratio."""

    benchmark: str
    case: str
    implementation: str
    platform: str
    toolchain: str
    limits: str
    metric: str
    change: Change
    ratio: Interval | None
    then: Interval
    now: Interval | None
    why: str = ""

    @property
    def regressed(self) -> bool:
        """Whether it is worse than it was."""
        return self.change in (Change.SLOWER, Change.FAILS)


def changes(
    old: Iterable[Record], new: Iterable[Record], *, margin: float, metric: str | None = None
) -> list[Changed]:
    """The change of every native cell that both sides have.

    Args:
        old: the records of then.
        new: those of now.
        margin: what counts as the same, as a share: 0.05 for 5 %.
        metric: another metric than each benchmark's headline.

    Raises:
        NothingToCompare: the sides are of different machines, or have no native cell in common.
    """
    sides = [_cells(records) for records in (old, new)]
    _require_one_machine(*sides)
    then, now = sides
    found = [
        changed
        for key, records in then.items()
        if key in now and (changed := _changed(records, now[key], margin=margin, metric=metric))
    ]
    if not found and metric is not None and (common := then.keys() & now.keys()):
        known = {name for key in common for record in then[key] for name in record.metrics}
        raise NothingToCompare(
            what=f"no cell of both has the metric {metric}",
            why=f"the cells of both measure {', '.join(sorted(known))}"
            if known
            else "the cells of both failed",
            fix="name one of these, or leave --metric away: each benchmark then has its headline",
        )
    if not found:
        raise NothingToCompare(
            what="no cell of the one is in the other",
            why=f"{len(then)} native cells of then and {len(now)} of now have no benchmark, case, implementation, "
            "platform, toolchain, limits and parameters in common",
            fix="run both with the same profile and the same part of the matrix",
        )
    return sorted(found, key=_order)


def lost(old: Iterable[Record], new: Iterable[Record]) -> int:
    """How many native cells of then have no record now."""
    return len(_cells(old).keys() - _cells(new).keys())


def as_text(found: Sequence[Changed], *, margin: float) -> str:
    """The text for people: a heading for each benchmark and place, a line for each cell."""
    lines = [
        f"times as fast as then, with a 95 % interval; slower or faster: all of it beyond {margin:.1%} of 1"
    ]
    heading = ""
    for each in found:
        title = f"{each.benchmark} on {each.platform} {each.toolchain} {each.limits}: {each.metric}"
        if title != heading:
            lines += ["", title]
            heading = title
        figure = "" if each.ratio is None else f"{significant(each.ratio.value)}x{bounds(each.ratio)}"
        why = f": {each.why}" if each.why else ""
        lines.append(f"  {each.case:<16} {each.implementation:<18} {figure:<26} {each.change.value}{why}")
    return "\n".join(lines)


def as_json(found: Sequence[Changed]) -> str:
    """The same as data."""
    return json.dumps(
        [{**asdict(each), "change": each.change.value} for each in found], indent=1, allow_nan=False
    )


_Key = tuple[Setting, str]


def _cells(records: Iterable[Record]) -> dict[_Key, list[Record]]:
    """The newest native records of each cell, by all that makes them one."""
    found: dict[_Key, list[Record]] = {}
    for setting, members in by_setting(oldest_first(records)).items():
        native = [record for record in members if record.execution.ranked]
        for benchmark in dict.fromkeys(record.benchmark for record in native):
            own = [record for record in native if record.benchmark == benchmark]
            for record in believed(newest_work(own)):
                found.setdefault((setting, f"{benchmark}/{record.implementation}"), []).append(record)
    return found


def _require_one_machine(then: Mapping[_Key, object], now: Mapping[_Key, object]) -> None:
    """Refuse two machines, with the first fact in which they differ.

    Raises:
        NothingToCompare: no machine of then is one of now.
    """
    olds, news = ({setting.machine for setting, _ in side} for side in (then, now))
    if not olds or not news:
        raise NothingToCompare(
            what=f"there is no native record {'then' if not olds else 'now'}",
            why="emulated times, and those of unknown execution, say nothing about a change",
            fix="name two publications or results directories with native records",
        )
    if olds & news:
        return
    names = list(machine.fingerprint())
    one, other = min(olds, key=str), min(news, key=str)
    differing = next(
        (
            f"{name.replace('_', ' ')} {b}, was {a}"
            for name, a, b in zip(names, one, other, strict=False)
            if a != b
        ),
        "they are known by other facts",
    )
    raise NothingToCompare(
        what="the records are of two machines",
        why=differing,
        fix="a change of the code shows on one machine alone: name two sets of records of the same one",
    )


def _changed(
    old: Sequence[Record], new: Sequence[Record], *, margin: float, metric: str | None
) -> Changed | None:
    """The change of one cell; None where it failed then already, or does not measure the metric."""
    olds, news = ([record for record in side if not record.failed] for side in (old, new))
    name = metric or (olds[0].work.headline if olds and olds[0].work else None)
    if name is None or not (before := processes(olds, name)):
        return None
    cell = old[0].cell
    said: dict[str, Any] = {
        **{part: value for part, value in cell.plain().items() if part != "seed"},
        "metric": name,
        "then": figure_interval(before),
    }
    after = processes(news, name)
    said["now"] = figure_interval(after) if after else None
    if failing := _failing(old, new):
        return Changed(**said, change=Change.FAILS, ratio=None, why=failing)
    if not after:
        why = "it is not measured any more" if news else "all of these processes failed then too"
        return Changed(**said, change=Change.INCONCLUSIVE, ratio=None, why=why)
    obstacle = _obstacle(olds, news)
    try:
        ratio = improvement(before, after, name)
    except ValueError:
        obstacle = obstacle or "a zero has no ratio"
    if obstacle is not None:
        return Changed(**said, change=Change.INCONCLUSIVE, ratio=None, why=obstacle)
    change = _verdict(ratio, margin)
    if change in (Change.SLOWER, Change.FASTER) and (busy := loaded(olds, news)):
        return Changed(**said, change=Change.INCONCLUSIVE, ratio=ratio, why=busy)
    why = f"n={ratio.n}, and an interval needs 5" if not ratio.ranked else ""
    return Changed(**said, change=change, ratio=ratio, why=why)


def _failing(old: Sequence[Record], new: Sequence[Record]) -> str:
    """How processes fail now whose seed did not fail then; empty where none does."""
    failed_then = {record.seed for record in old if record.failed}
    failures = [record.failure for record in new if record.seed not in failed_then]
    kinds = sorted({each.kind for each in failures if each is not None})
    count = sum(each is not None for each in failures)
    some = f" in {count} of {len(new)} processes" if count < len(new) else ""
    return f"{', '.join(kinds)}{some}" if kinds else ""


def _obstacle(olds: Sequence[Record], news: Sequence[Record]) -> str | None:
    """Why the times of these records may not be compared, or None."""
    one, other = olds[0], news[0]
    different = other_machine(one.machine.plain(), other.machine.plain())
    if different is not None:
        return different
    if one.launch.executor != other.launch.executor:
        return f"run by the executor {other.launch.executor}, was {one.launch.executor}"
    if one.expected_counts != other.expected_counts:
        return "it counts other work than then"
    return too_short((*olds, *news)) or unlike_cpus(one.launch.limits, other.launch.limits)


def _verdict(ratio: Interval, margin: float) -> Change:
    low, high = ratio.low, ratio.high
    if not ratio.ranked or low is None or high is None:
        return Change.INCONCLUSIVE
    if high < 1 / (1 + margin):
        return Change.SLOWER
    if low > 1 + margin:
        return Change.FASTER
    return Change.SAME if 1 / (1 + margin) <= low and high <= 1 + margin else Change.INCONCLUSIVE


def _order(each: Changed) -> tuple[Any, ...]:
    place = (each.benchmark, each.platform, each.toolchain, each.limits)
    return (*place, natural_order(each.case), each.implementation)
