"""How each benchmark's page begins: its name, the verdict, the plot."""

from collections.abc import Sequence
from dataclasses import dataclass

from runner.report.tables.selection import Room
from runner.report.tables.verdict import verdict_in_words


@dataclass(frozen=True, kw_only=True)
class Head:
    """``plots`` are the names of the plots that lie beside the page."""

    name: str
    title: str
    profile: str
    verdict: str
    plots: frozenset[str]
    reference: str


def head_of(rooms: Sequence[Room], *, profile: str, plots: frozenset[str]) -> Head:
    """The head of the page of these rooms, which are of one benchmark."""
    benchmark = rooms[0].benchmark
    return Head(
        name=benchmark.name,
        title=benchmark.title,
        profile=profile,
        verdict=verdict_in_words(rooms),
        plots=plots,
        reference=benchmark.reference.name,
    )
