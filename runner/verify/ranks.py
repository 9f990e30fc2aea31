"""Ranks: how many times faster than its reference a cell was, and is now.

A time that is reproduced within the tolerance says nothing about a rank that lies inside the tolerance. So a rank is
judged by its own two intervals. It is reproduced where both exclude 1 on the same side.
"""

from collections.abc import Sequence

from runner.figures.comparison import improvement, one_run, processes
from runner.figures.statistics import LEAST_PROCESSES, Interval
from runner.figures.statistics import Verdict as Place
from runner.figures.statistics import verdict as place_of
from runner.records.record import Record
from runner.report.tables.units import bounds, significant
from runner.verify.findings import Finding, Pair, Verdict, passed
from runner.verify.obstacles import loaded, why_no_times


def rank(own: Sequence[Pair], reference: Sequence[Pair]) -> Finding | None:
    """The finding on a cell's rank; None where the records give none, then or now.

    Args:
        own: the cell's records with their new ones.
        reference: those of the reference, of the same case and place.
    """
    sides = [passed(own), passed(reference)]
    work = own[0].old.work
    if not work or not all(sides) or not all(old.ranked for old, _ in sides[0]):
        return None
    if not one_run(*([old for old, _ in side] for side in sides)):
        return None
    obstacle = next(
        filter(None, (_obstacle(pairs, side) for pairs, side in zip((own, reference), sides, strict=True))),
        None,
    )
    try:
        then, now = (_improvement(sides, moment, work.headline) for moment in (0, 1))
    except ValueError:
        # A zero has no ratio.
        return None
    verdict, why = _judged(then, now, work.reference.implementation)
    if obstacle is not None:
        return _finding(Verdict.INCONCLUSIVE, obstacle, then, None)
    every = [*sides[0], *sides[1]]
    busy = loaded([old for old, _ in every], [new for _, new in every])
    if verdict is Verdict.DIFFERS and busy is not None:
        return _finding(Verdict.INCONCLUSIVE, f"{why}; {busy}", then, now)
    return _finding(verdict, why, then, now)


def in_words(ratio: Interval) -> str:
    """How many times faster, with the interval."""
    return f"{significant(ratio.value)}x{bounds(ratio)}"


def _judged(then: Interval, now: Interval, reference: str) -> tuple[Verdict, str]:
    places = (place_of(then), place_of(now))
    if Place.NOT_RANKED in places:
        return (
            Verdict.INCONCLUSIVE,
            f"n = {min(then.n, now.n)}: a rank needs {LEAST_PROCESSES} processes a side",
        )
    said = f"against {reference} {in_words(then)} then, {in_words(now)} now"
    if Place.INCONCLUSIVE in places:
        return Verdict.INCONCLUSIVE, f"{said}: an interval that holds 1 ranks nothing"
    if places[0] is not places[1]:
        return Verdict.DIFFERS, f"{said}: {places[0].value} then, {places[1].value} now"
    return Verdict.REPRODUCED, f"{said}: {places[0].value} both times"


def _finding(verdict: Verdict, why: str, then: Interval, now: Interval | None) -> Finding:
    return Finding(figure="rank", verdict=verdict, why=why, ranks=(then, now))


def _improvement(sides: Sequence[Sequence[tuple[Record, Record]]], moment: int, headline: str) -> Interval:
    own, reference = (processes([pair[moment] for pair in side], headline) for side in sides)
    return improvement(reference, own, headline)


def _obstacle(pairs: Sequence[Pair], side: Sequence[tuple[Record, Record]]) -> str | None:
    return why_no_times(pairs, side[0][0], [new for _, new in side])
