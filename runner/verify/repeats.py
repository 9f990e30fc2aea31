"""Repeats: cells whose interval is too wide for a verdict run again, until it is narrow enough or a budget ends."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from runner.planning.estimates import duration
from runner.records.record import Record
from runner.system.budget import Budget
from runner.verify.again import Job, Outcome
from runner.verify.findings import Judged, Pair
from runner.verify.judge import comparison_of, judge


@dataclass(frozen=True, kw_only=True)
class Narrowed:
    """What is judged after the repeats, and how many processes these started."""

    judged: tuple[Judged, ...]
    launches: int


def narrowed(
    pairs: Sequence[Pair],
    jobs: Sequence[Job],
    *,
    minutes: float,
    run: Callable[[Sequence[Job]], Outcome],
    say: Callable[[str], None],
) -> Narrowed:
    """Judge the pairs, and run again what an interval leaves open while the budget lasts.

    A round starts only where the last round of its cells says that it ends within the budget.

    Args:
        pairs: each old record with its first new one.
        jobs: the jobs of these records.
        minutes: the budget of the repeats; 0 means no repeats.
        run: runs jobs again.
        say: reports progress.
    """
    budget, launches = Budget(minutes), 0
    judged = judge(pairs)
    while minutes:
        wanted = _open(judged)
        round_of = [job for job in jobs if job.record.identifier in wanted]
        if not round_of:
            break
        seconds = _seconds(pair for pair in pairs if pair.old.identifier in wanted)
        if not budget.rounds(seconds):
            say(
                f"the budget of repeats is used up: a round of {len(round_of)} cells takes {duration(seconds)}"
            )
            break
        say(f"{len(round_of)} cells run again, because an interval is too wide for a verdict")
        outcome = run(round_of)
        launches += outcome.launches
        if not outcome.records:
            break
        pairs = [_with_repeat(pair, outcome) for pair in pairs]
        judged = judge(pairs)
    return Narrowed(judged=judged, launches=launches)


def _open(judged: Iterable[Judged]) -> frozenset[str]:
    """The records of cells with an interval that more processes may narrow, and those of their references."""
    judged = tuple(judged)
    wide = [
        each for each in judged if any(found.too_wide for found in each.findings if not found.informational)
    ]
    compared = {comparison_of(each.first) for each in wide if any(found.ranks for found in each.findings)}
    references = [
        each
        for each in judged
        if each.first.work
        and each.first.implementation == each.first.work.reference.implementation
        and comparison_of(each.first) in compared
    ]
    return frozenset(pair.old.identifier for each in (*wide, *references) for pair in each.pairs)


def _seconds(pairs: Iterable[Pair]) -> float:
    """How long the newest launches of these cells took."""
    newest = [pair.repeats[-1] if pair.repeats else pair.new for pair in pairs]
    launches = {record.launch.id: record.launch.wall_seconds for record in newest if record is not None}
    return sum(launches.values())


def _with_repeat(pair: Pair, outcome: Outcome) -> Pair:
    again: Record | None = outcome.records.get(pair.old.identifier)
    return pair if again is None else replace(pair, repeats=(*pair.repeats, again))
