"""How each benchmark's page begins: its name, the verdict, the plot."""

from collections.abc import Sequence
from dataclasses import dataclass

from runner.report.tables.selection import Room
from runner.report.tables.verdict import verdict_in_words


@dataclass(frozen=True, kw_only=True)
class Head:
    """``plotted`` says whether a plot of ratios lies beside the page, and ``curves`` whether learning curves do."""

    name: str
    title: str
    profile: str
    verdict: str
    plotted: bool
    curves: bool
    reference: str


def head_of(rooms: Sequence[Room], *, profile: str, plotted: bool, curves: bool) -> Head:
    """The head of the page of these rooms, which are of one benchmark."""
    benchmark = rooms[0].benchmark
    return Head(
        name=benchmark.name,
        title=benchmark.title,
        profile=profile,
        verdict=verdict_in_words(rooms),
        plotted=plotted,
        curves=curves,
        reference=benchmark.reference.name,
    )
