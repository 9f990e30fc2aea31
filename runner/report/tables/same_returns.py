"""Whether implementations learn as well as the reference, by their returns on all machines.

Times of different machines are never compared. Returns may be, because the code and the seed decide what an agent
learns, up to rounding. So seeds of the newest work with equal parameters are pooled over platforms, limits and
machines.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from runner.figures.comparison import machine_of, same_work
from runner.figures.equivalence import difference, judged
from runner.matrix import Benchmark, EquivalenceRule, Profile
from runner.records.order import oldest_first
from runner.records.record import Record
from runner.report.tables import units
from runner.report.tables.decided import Decided, decided
from runner.report.tables.learning import mean_of_last
from runner.report.tables.markdown import Table
from runner.report.tables.units import NOTHING

_Means = Mapping[tuple[str, str], Sequence[float]]
_TOO_FEW = "too few seeds"


@dataclass(frozen=True, kw_only=True)
class SameReturns:
    """The table of a page's own seeds, and what publications decided with more of them.

    Attributes:
        table: a row for each case with a rule and each implementation beside the reference.
        elsewhere: for rows that have too few seeds, each verdict of a publication.
        published: the way from the page to the folder of all publications; None where there is none.
    """

    table: Table
    elsewhere: tuple[Decided, ...]
    published: str | None


def same_returns_of(
    benchmark: Benchmark, records: Sequence[Record], profile: Profile, *, published: str | None
) -> SameReturns | None:
    """What can be said of a training's returns; None without any rule.

    Args:
        benchmark: a training.
        records: the store's, in any order, of any benchmark, platform and machine.
        profile: the profile whose native parameters the records must have.
        published: the way from the page to the folder of all publications; None where there is none.
    """
    returns = benchmark.returns
    if returns is None or not returns.equivalence:
        return None
    means = _means(benchmark, records, profile)
    elsewhere = benchmark.left_to_longer(profile.name, emulated=False)
    compared = [
        (case, name, rule)
        for case, rule in returns.equivalence.items()
        for name, implementation in benchmark.implementations.items()
        if not implementation.reference
        and not elsewhere & {name, case}
        and case not in implementation.without
    ]
    undecided = {
        (case, name)
        for case, name, rule in compared
        if _seeds(means, case, name, benchmark.reference.name) < rule.seeds
    }
    return SameReturns(
        table=Table(
            headers=(
                "case",
                "implementation",
                "difference from the reference",
                "90 % interval",
                "margin",
                "seeds",
                "returns",
            ),
            rows=tuple(
                (case, name, *_row(means, case, name, benchmark.reference.name, rule))
                for case, name, rule in compared
            ),
        ),
        elsewhere=tuple(each for each in decided(benchmark) if (each.case, each.implementation) in undecided),
        published=published,
    )


def decided_here(
    benchmark: Benchmark, records: Sequence[Record], profile: Profile, *, publication: str
) -> Iterator[Decided]:
    """The verdicts of a publication, where both sides have as many seeds as the rule asks for."""
    means, reference = _means(benchmark, records, profile), benchmark.reference.name
    rules = benchmark.returns.equivalence if benchmark.returns else {}
    for case, rule in rules.items():
        for name in benchmark.implementations:
            seeds = _seeds(means, case, name, reference)
            if name == reference or seeds < rule.seeds:
                continue
            yield Decided(
                benchmark=benchmark.name,
                case=case,
                implementation=name,
                reference=reference,
                parameters={**benchmark.cases[case].parameters, **benchmark.sizes[profile.name].native},
                margin=rule.margin,
                seeds=seeds,
                verdict=judged(difference(means[case, name], means[case, reference], rule), rule).value,
                profile=profile.name,
                publication=publication,
            )


def _seeds(means: _Means, case: str, name: str, reference: str) -> int:
    """Of the side that has fewer."""
    return min(len(means.get((case, each), ())) for each in (name, reference))


def _row(
    means: _Means, case: str, name: str, reference: str, rule: EquivalenceRule
) -> tuple[str, str, str, str, str]:
    ours, theirs = means.get((case, name), ()), means.get((case, reference), ())
    margin = f"± {rule.margin:g}"
    seeds = f"{len(ours)} and {len(theirs)} of {rule.seeds}"
    if not ours or not theirs:
        return (NOTHING, NOTHING, margin, seeds, "not run")
    found = difference(ours, theirs, rule)
    return (
        units.signed(found.value),
        f"{units.signed(found.low)} to {units.signed(found.high)}",
        margin,
        seeds,
        judged(found, rule).value if found.n >= rule.seeds else _TOO_FEW,
    )


def _means(benchmark: Benchmark, records: Sequence[Record], profile: Profile) -> _Means:
    """The returns of every case and implementation, one for each seed, of the newest work.

    A seed that several machines ran counts once, by its newest record, because it drew the same numbers. A failure on
    one machine, perhaps by its deadline, does not remove the pass on another machine.
    """
    parameters = {
        case: {**each.parameters, **benchmark.sizes[profile.name].native}
        for case, each in benchmark.cases.items()
    }
    mine = oldest_first(
        record
        for record in records
        if record.benchmark == benchmark.name and record.parameters == parameters.get(record.case)
    )
    episodes = benchmark.returns.episodes if benchmark.returns else 0
    found: dict[tuple[str, str], list[float]] = {}
    same = same_work(mine)
    newest = {(_place(record), _seed(record)): record for record in same}
    # The newest passed record of all places. The records of the same work are still sorted by age.
    passed = {
        _seed(record): record
        for record in same
        if newest[_place(record), _seed(record)] is record and not record.failed
    }
    for (case, implementation, _), record in passed.items():
        mean = mean_of_last(record.played, episodes)
        if mean is not None:
            found.setdefault((case, implementation), []).append(mean)
    return found


def _seed(record: Record) -> tuple[str, str, int]:
    return record.case, record.implementation, record.seed


def _place(record: Record) -> tuple[Any, ...]:
    """The place within which a failure replaces an earlier pass."""
    return machine_of(record), record.platform, record.cell.limits, record.execution.kind
