"""Whether implementations learn as well as the reference, by their returns on all machines.

Times of different machines are never compared. Returns may be, because the code and the seed decide what an agent
learns, up to rounding. So seeds of the newest work with equal parameters are pooled over platforms, limits and
machines.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from runner.figures.comparison import machine_of, same_work
from runner.figures.equivalence import difference, judged
from runner.matrix import Benchmark, EquivalenceRule, Profile
from runner.records.order import oldest_first
from runner.records.record import Record
from runner.report.tables import units
from runner.report.tables.markdown import Table
from runner.report.tables.training import mean_of_last
from runner.report.tables.units import NOTHING

_Means = Mapping[tuple[str, str], Sequence[float]]


def same_returns_table(benchmark: Benchmark, records: Sequence[Record], profile: Profile) -> Table | None:
    """A row for each case with a rule and each implementation beside the reference; None without any rule.

    Args:
        benchmark: a training.
        records: the store's, in any order, of any benchmark, platform and machine.
        profile: the profile whose native parameters the records must have.
    """
    returns = benchmark.returns
    if returns is None or not returns.equivalence:
        return None
    means = _means(benchmark, records, profile)
    elsewhere = benchmark.left_to_longer(profile.name, emulated=False)
    return Table(
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
            for case, rule in returns.equivalence.items()
            for name, implementation in benchmark.implementations.items()
            if not implementation.reference
            and not elsewhere & {name, case}
            and case not in implementation.without
        ),
    )


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
        judged(found, rule).value,
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
