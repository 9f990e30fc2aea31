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
    if not work or sides[0] is None or sides[1] is None or not all(old.ranked for old in sides[0].olds):
        return None
    mine, its = sides[0], sides[1]
    if not one_run(mine.olds, its.olds):
        return None
    obstacle = next(
        filter(
            None,
            (why_no_times(pairs, side.olds, side.news) for pairs, side in ((own, mine), (reference, its))),
        ),
        None,
    )
    try:
        then = _improvement(mine.olds, its.olds, work.headline)
        now = _improvement(mine.news, its.news, work.headline)
    except ValueError:
        # A zero has no ratio.
        return None
    if obstacle is not None:
        return _finding(Verdict.INCONCLUSIVE, obstacle, then, None)
    verdict, why = _judged(then, now, work.reference.implementation)
    busy = loaded((*mine.olds, *its.olds), (*mine.news, *its.news))
    if verdict is Verdict.DIFFERS and busy is not None:
        return _finding(Verdict.INCONCLUSIVE, f"{why}; {busy}", then, now)
    return _finding(verdict, why, then, now, too_wide=_too_wide(then, now))


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


def _too_wide(then: Interval, now: Interval) -> bool:
    """Whether today's interval alone keeps the rank open."""
    open_places = (Place.NOT_RANKED, Place.INCONCLUSIVE)
    return place_of(then) not in open_places and place_of(now) is Place.INCONCLUSIVE


def _finding(
    verdict: Verdict, why: str, then: Interval, now: Interval | None, *, too_wide: bool = False
) -> Finding:
    return Finding(figure="rank", verdict=verdict, why=why, ranks=(then, now), too_wide=too_wide)


def _improvement(own: Sequence[Record], reference: Sequence[Record], headline: str) -> Interval:
    return improvement(processes(reference, headline), processes(own, headline), headline)
