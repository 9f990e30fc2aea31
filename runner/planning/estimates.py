"""How long launches take, learnt from earlier launches of the same store, for the plan and the progress.

No estimate is scaled or guessed: the time of other sizes, or of another machine, says nothing about a launch.
"""

import json
import statistics
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from runner.records.record import Record
from runner.system import machine

if TYPE_CHECKING:
    from runner.planning.planned import Launch

# The median of the newest few launches counts, because a developer makes an implementation faster or slower.
_NEWEST = 5
_Kind = tuple[str, ...]
_Cases = frozenset[tuple[str, str]]


@dataclass(frozen=True, kw_only=True)
class Estimate:
    """Seconds of wall time that a launch takes. ``at_most``: the launches it was learnt from had more cases."""

    seconds: float
    at_most: bool = False


@dataclass(frozen=True, kw_only=True)
class Total:
    """The sum over launches: ``seconds`` of those whose duration is known, and how many are not."""

    launches: int
    seconds: float
    unknown: int

    def __str__(self) -> str:
        if self.launches == self.unknown:
            return "unknown time"
        known = f"about {duration(self.seconds)}"
        return f"{known} and {self.unknown} of unknown duration" if self.unknown else known


class Durations:
    """The times of earlier launches on the machine of each platform, by their work."""

    def __init__(
        self, records: Iterable[Record] = (), *, machines: Mapping[str, Mapping[str, Any]] | None = None
    ) -> None:
        """Learn from ``records``, oldest first. A failed launch says nothing about the time of a good launch.

        Args:
            records: of any machine.
            machines: the machine that counts for each platform, by the platform's name, as a record describes it. This
                one counts for the others.
        """
        self._seen: dict[_Kind, dict[_Cases, list[float]]] = defaultdict(lambda: defaultdict(list))
        launches: dict[str, list[Record]] = defaultdict(list)
        here = machine.fingerprint()
        counts = {name: machine.fingerprint(each) for name, each in (machines or {}).items()}
        for record in records:
            there = machine.fingerprint(record.machine.plain())
            if record.launch.exit_code == 0 and there == counts.get(record.platform, here):
                launches[record.launch.id].append(record)
        for members in launches.values():
            first = members[0]
            cases = frozenset((each.case, _text(each.parameters)) for each in members)
            self._seen[_kind_of(first)][cases].append(first.launch.wall_seconds)

    def of(self, launch: "Launch") -> Estimate | None:
        """The estimate for ``launch``, from launches of its own cases, or of these and more."""
        wanted = _cases(launch)
        known = self._seen.get(_kind(launch), {})
        holding = [cases for cases in known if cases >= wanted]
        if not holding:
            return None
        nearest = min(holding, key=len)
        return Estimate(seconds=statistics.median(known[nearest][-_NEWEST:]), at_most=nearest != wanted)

    def total(self, launches: Iterable["Launch"]) -> Total:
        """The sum over ``launches``."""
        estimates = [self.of(launch) for launch in launches]
        known = [each.seconds for each in estimates if each is not None]
        return Total(launches=len(estimates), seconds=sum(known), unknown=len(estimates) - len(known))

    def longest(self, queues: Iterable[Iterable["Launch"]]) -> Total:
        """The sum over queues of launches that run at the same time: the longest known time counts."""
        totals = [self.total(queue) for queue in queues]
        return Total(
            launches=sum(each.launches for each in totals),
            seconds=max((each.seconds for each in totals), default=0.0),
            unknown=sum(each.unknown for each in totals),
        )

    def learn(self, launch: "Launch", seconds: float) -> None:
        """Learn that a launch passed after ``seconds``, for the launches of its next seeds."""
        self._seen[_kind(launch)][_cases(launch)].append(seconds)


def duration(seconds: float) -> str:
    """A duration for people: in seconds, minutes or hours."""
    if seconds < 90:  # noqa: PLR2004 (as people say it)
        return f"{max(1, round(seconds))} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 120 else f"{seconds / 3600:.1f} h"  # noqa: PLR2004 (as above)


def _kind(launch: "Launch") -> _Kind:
    cell = launch.first
    return (
        cell.benchmark.name,
        cell.implementation.name,
        cell.toolchain.name,
        cell.platform.name,
        cell.limits.name,
        launch.execution.kind.value,
    )


def _kind_of(record: Record) -> _Kind:
    return (
        record.benchmark,
        record.implementation,
        record.cell.toolchain,
        record.platform,
        record.cell.limits,
        record.execution.kind.value,
    )


def _cases(launch: "Launch") -> _Cases:
    return frozenset((each.cell.case.name, _text(each.cell.parameters)) for each in launch.cells)


def _text(parameters: Mapping[str, Any]) -> str:
    return json.dumps(dict(parameters), sort_keys=True)
