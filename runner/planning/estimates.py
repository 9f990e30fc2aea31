"""How long launches take, learnt from the earlier ones of the same store: what the plan says and the progress shows.

Nothing is scaled and nothing is guessed: the time of other sizes, or of another machine, says nothing about these.
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
    from runner.planning.plan import Launch

# The median of the newest few: an implementation gets faster or slower as it is worked on.
_NEWEST = 5
_Kind = tuple[str, ...]
_Cases = frozenset[tuple[str, str]]


@dataclass(frozen=True, kw_only=True)
class Estimate:
    """Seconds of wall time that a launch takes. ``at_most``: learnt from launches of these cases and more."""

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
    """What earlier launches on one machine took, by what they did."""

    def __init__(self, records: Iterable[Record] = (), *, here: Mapping[str, Any] | None = None) -> None:
        """Learn from ``records``, oldest first. Launches that did not end well say nothing of a good one's time.

        Args:
            records: of whatever machine.
            here: the machine that counts, as a record describes it; None for this one.
        """
        self._seen: dict[_Kind, dict[_Cases, list[float]]] = defaultdict(lambda: defaultdict(list))
        launches: dict[str, list[Record]] = defaultdict(list)
        counts = machine.fingerprint(here)
        for record in records:
            there = machine.fingerprint(record.data["machine"])
            if record.data["launch"]["exit_code"] == 0 and there == counts:
                launches[record.data["launch"]["id"]].append(record)
        for members in launches.values():
            first = members[0]
            cases = frozenset((each.case, _text(each.data["parameters"])) for each in members)
            self._seen[_kind_of(first)][cases].append(first.data["launch"]["wall_seconds"])

    def of(self, launch: "Launch") -> Estimate | None:
        """The estimate for ``launch``: as long as launches of its own cases took, or of these and more."""
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

    def learn(self, launch: "Launch", seconds: float) -> None:
        """A launch ended well after ``seconds``: the next seed of it will take about as long."""
        self._seen[_kind(launch)][_cases(launch)].append(seconds)


def duration(seconds: float) -> str:
    """Seconds as a person reads them: in seconds, minutes, or hours."""
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
        str(record.data["cell"]["toolchain"]),
        record.platform,
        str(record.data["cell"]["limits"]),
        str(record.data["execution"]["kind"]),
    )


def _cases(launch: "Launch") -> _Cases:
    return frozenset((each.cell.case.name, _text(each.cell.parameters)) for each in launch.cells)


def _text(parameters: Mapping[str, Any]) -> str:
    return json.dumps(dict(parameters), sort_keys=True)
