"""The view of the summary: for each place three tables, and what holds there of another report's findings."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from runner.matrix import Matrix
from runner.report.tables import texts
from runner.report.tables.markdown import Table
from runner.report.tables.selection import Room
from runner.report.tables.summary import tables
from runner.report.tables.summary.declared import NETWORKS, OPERATIONS, POST_TRAINING
from runner.report.tables.summary.findings import FINDINGS
from runner.report.tables.summary.findings.finding import Finding, Outcome
from runner.report.tables.summary.places import Place, places

SUMMARY = "summary"
_DECLARED = (OPERATIONS, POST_TRAINING, NETWORKS)


@dataclass(frozen=True, kw_only=True)
class Section:
    """One place.

    Attributes:
        heading: its name.
        measured: its executions and machines.
        operations: each operation of that report, ours against each library.
        post_training: the same of language models.
        networks: the times of networks by each library.
        ranked: whether its times may decide a finding.
        findings: those that were measured.
        unmeasured: the others.
    """

    heading: str
    measured: tuple[str, ...]
    operations: Table
    post_training: Table
    networks: Table
    ranked: bool
    findings: tuple[Finding, ...]
    unmeasured: tuple[Finding, ...]


@dataclass(frozen=True, kw_only=True)
class SummaryView:
    """The whole page."""

    profile: str
    sections: tuple[Section, ...]


def summary_view(
    matrix: Matrix, benchmark_rooms: Iterable[Sequence[Room]], *, profile: str
) -> SummaryView | None:
    """The page over the rooms of every benchmark; None where no table has a row."""
    sections = tuple(
        _section(place)
        for place in places(matrix, benchmark_rooms)
        if any(map(is_summarised, place.rooms.values()))
    )
    return SummaryView(profile=profile, sections=sections) if sections else None


def is_summarised(room: Room) -> bool:
    """Whether the page has a row of this room."""
    return room.ordinary and bool(room.records) and any(tables.is_shown(room, each) for each in _DECLARED)


def _section(place: Place) -> Section:
    found = [finding(place.rooms) for finding in FINDINGS]
    shown = [room for room in place.rooms.values() if is_summarised(room)]
    return Section(
        heading=place.heading,
        measured=tuple(
            dict.fromkeys(f"{texts.execution(room)}, on {texts.measured(room)}" for room in shown)
        ),
        operations=tables.ratios(place.rooms, OPERATIONS),
        post_training=tables.ratios(place.rooms, POST_TRAINING),
        networks=tables.times(place.rooms, NETWORKS),
        ranked=any(room.ranked for room in shown),
        findings=tuple(each for each in found if each.outcome is not Outcome.NOT_MEASURED),
        unmeasured=tuple(each for each in found if each.outcome is Outcome.NOT_MEASURED),
    )
