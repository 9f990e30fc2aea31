"""Whether implementations learn the same as the reference: their returns, of every machine that ran them.

Times of different machines never meet. Returns may: what an agent learns is decided by its code and its seed, up to
rounding. So seeds are pooled over platforms, limits and machines, as long as the parameters are the same and what ran
is the newest work.
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
        records: the store's, in any order, of whatever benchmark, platform and machine.
        profile: whose native parameters the records must have.
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
    """The returns of every case and implementation, one a seed, of the newest work.

    A seed that several machines ran counts once, as the newest of them: it drew the same numbers. One that failed on
    a machine, by its deadline perhaps, takes nothing from what another machine got.
    """
    parameters = {
        case: {**each.parameters, **benchmark.sizes[profile.name].native}
        for case, each in benchmark.cases.items()
    }
    mine = oldest_first(
        record
        for record in records
        if record.benchmark == benchmark.name and record.data["parameters"] == parameters.get(record.case)
    )
    episodes = benchmark.returns.episodes if benchmark.returns else 0
    found: dict[tuple[str, str], list[float]] = {}
    same = same_work(mine)
    newest = {(_place(record), _seed(record)): record for record in same}
    # Of all places the newest that passed: what is the same work is still sorted by age.
    passed = {
        _seed(record): record
        for record in same
        if newest[_place(record), _seed(record)] is record and not record.failed
    }
    for (case, implementation, _), record in passed.items():
        mean = mean_of_last(record.episodes, episodes)
        if mean is not None:
            found.setdefault((case, implementation), []).append(mean)
    return found


def _seed(record: Record) -> tuple[str, str, int]:
    return record.case, record.implementation, record.seed


def _place(record: Record) -> tuple[Any, ...]:
    """Where a failure replaces what passed before it."""
    cell, execution = record.data["cell"], record.data["execution"]
    return machine_of(record), cell["platform"], cell["limits"], execution["kind"]
