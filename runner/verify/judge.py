"""Compare old records with new ones: one finding for each figure, by rules that are printed beside the result."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from runner.figures.statistics import LEAST_PROCESSES, Interval, Processes, figure, ratio_interval
from runner.matrix import Determinism
from runner.records.failure import FailureKind
from runner.records.record import Record, content_hash
from runner.records.verdicts import AUDITS
from runner.verify.findings import TOLERANCE, Finding, Judged, Pair, Verdict, passed
from runner.verify.images import Likeness
from runner.verify.obstacles import (
    MODEL,
    circumstance_of,
    loaded,
    why_no_bytes,
    why_no_memory,
    why_no_times,
)
from runner.verify.ranks import rank

# The machine may cause such a failure as well as the implementation.
_OF_THE_MACHINE = frozenset(
    kind.value
    for kind in (
        FailureKind.DEADLINE,
        FailureKind.NOT_STARTED,
        FailureKind.OUT_OF_MEMORY,
        FailureKind.SIGNAL,
        FailureKind.NO_REFERENCE,
    )
)


def judge(pairs: Iterable[Pair]) -> tuple[Judged, ...]:
    """All findings, cell by cell, in the order in which the cells first appear."""
    cells: dict[str, list[Pair]] = {}
    for pair in pairs:
        cells.setdefault(_cell_of(pair.old), []).append(pair)
    references = {
        comparison_of(members[0].old): members
        for members in cells.values()
        if members[0].old.implementation == _reference_of(members[0].old)
    }
    return tuple(
        Judged(
            pairs=tuple(members),
            findings=(
                *(found for pair in members for one in pair.one_by_one() for found in exact(one)),
                *by_interval(members),
                *_ranks(members, references.get(comparison_of(members[0].old), [])),
            ),
        )
        for members in cells.values()
    )


def _ranks(members: Sequence[Pair], reference: Sequence[Pair]) -> Iterator[Finding]:
    if reference and members is not reference and (found := rank(members, reference)):
        yield found


def exact(pair: Pair) -> tuple[Finding, ...]:
    """The findings on the figures of one record that must be equal."""
    if pair.new is None:
        return (_finding(pair, "all figures", Verdict.INCONCLUSIVE, pair.why_not or "not run"),)
    found = [_gate(pair, pair.new), _inputs(pair, pair.new), _software(pair, pair.new)]
    if not pair.old.failed and not pair.new.failed:
        found.append(_counts(pair, pair.new))
        found += _bytes(pair, pair.new)
    return tuple(found)


def by_interval(pairs: Sequence[Pair]) -> tuple[Finding, ...]:
    """Times and peak memory of one cell, over the processes that passed on both sides."""
    both = passed(pairs)
    if both is None:
        return ()
    olds, news = both.olds, both.news
    obstacle = why_no_times(pairs, olds, news)
    headline = olds[0].work.headline if olds[0].work else None
    found = []
    for metric in olds[0].metrics:
        sides = _sides(olds, news, lambda record, name=metric: record.values(name))  # type: ignore[misc]  # mypy infers no default
        found.append(
            _compare(metric, sides, obstacle, informational=metric != headline, busy=loaded(olds, news))
        )
    # A repeat may serve fewer cases in one process, which then needs less memory.
    memory = _sides(olds, both.first, _peak)
    if memory[0]:
        why = obstacle or why_no_memory(olds, both.first)
        found.append(_compare("peak memory", memory, why, informational=True))
    return tuple(found)


def verdict_of(ratio: Interval) -> tuple[Verdict, str]:
    """The verdict on an interval of new over old.

    It is reproduced where the interval lies within the tolerance. It is also reproduced where the interval holds 1
    and its middle lies within the tolerance. It differs where the whole interval lies outside. Otherwise, and with
    fewer than five processes, it is inconclusive.
    """
    lowest, highest = TOLERANCE
    if ratio.n < LEAST_PROCESSES or ratio.low is None or ratio.high is None:
        return Verdict.INCONCLUSIVE, f"n = {ratio.n}: an interval needs {LEAST_PROCESSES} processes a side"
    bounds = f"{ratio.low:.3g} to {ratio.high:.3g}"
    if ratio.low > highest or ratio.high < lowest:
        return Verdict.DIFFERS, f"{bounds} times what it was, outside of {lowest:g} to {highest:g}"
    if lowest <= ratio.low and ratio.high <= highest:
        return Verdict.REPRODUCED, f"{bounds} times what it was"
    if ratio.low <= 1 <= ratio.high and lowest <= ratio.value <= highest:
        return Verdict.REPRODUCED, f"{bounds} times what it was, which holds 1"
    return (
        Verdict.INCONCLUSIVE,
        f"{bounds} times what it was, neither within {lowest:g} to {highest:g} nor outside",
    )


def _reference_of(record: Record) -> str | None:
    return record.work.reference.implementation if record.work else None


def comparison_of(record: Record) -> str:
    """The facts that a cell shares with the reference that it is ranked against."""
    names = {
        name: value for name, value in record.cell.plain().items() if name not in ("seed", "implementation")
    }
    described = record.machine.plain()
    return content_hash(
        {
            "names": names,
            "parameters": record.parameters,
            "execution": record.execution.kind.value,
            "executor": record.launch.executor,
            "machine": [described.get(name) for name in MODEL],
            "profile": record.profile,
            "reference": record.work.reference.plain()["command"] if record.work else None,
        }
    )


def _cell_of(record: Record) -> str:
    """The facts that the records of one figure share. They differ in the seed and the moment."""
    cell = {name: value for name, value in record.cell.plain().items() if name != "seed"}
    described = record.machine.plain()
    return content_hash(
        {
            "cell": cell,
            "parameters": record.parameters,
            "command": record.command,
            "execution": record.execution.kind.value,
            "executor": record.launch.executor,
            "image": [record.image.target, record.image.execution_hash],
            "machine": [described.get(name) for name in MODEL],
            "profile": record.profile,
        }
    )


def _finding(pair: Pair, figure_name: str, verdict: Verdict, why: str, **more: Any) -> Finding:
    return Finding(
        figure=figure_name,
        verdict=verdict,
        why=why,
        seed=pair.old.seed,
        record=pair.old.identifier,
        **more,
    )


def _gate(pair: Pair, new: Record) -> Finding:
    """The verdict on the work: passed again, or failed again for the same reason."""
    then, now = pair.old.failure, new.failure
    if then is None and now is None:
        # A run of `verify` is not audited.
        passed = [
            sorted(check.check for check in record.gate if check.passed and check.check not in AUDITS)
            for record in (pair.old, new)
        ]
        if passed[0] != passed[1]:
            return _finding(pair, "gate", Verdict.DIFFERS, f"other checks: {passed[1]}, were {passed[0]}")
        return _finding(pair, "gate", Verdict.REPRODUCED, f"passed again, {len(passed[1])} checks")
    if then is not None and now is not None and then.kind == now.kind:
        return _finding(pair, "gate", Verdict.REPRODUCED, f"failed again: {now.kind}")
    was = "passed" if then is None else f"failed ({then.kind})"
    is_ = "passes" if now is None else f"fails ({now.kind}: {now.detail})"
    why = f"it {was} and now {is_}"
    kinds = {failure.kind for failure in (then, now) if failure is not None}
    circumstance = circumstance_of(pair, new)
    if circumstance is not None and kinds <= _OF_THE_MACHINE:
        return _finding(pair, "gate", Verdict.INCONCLUSIVE, f"{why}; {circumstance}")
    return _finding(pair, "gate", Verdict.DIFFERS, why)


def _inputs(pair: Pair, new: Record) -> Finding:
    wrong = _unequal(pair.old.inputs, new.inputs)
    if wrong:
        return _finding(pair, "inputs", Verdict.DIFFERS, f"other bytes in {', '.join(wrong)}")
    return _finding(pair, "inputs", Verdict.REPRODUCED, f"the same bytes in {_files(pair.old.inputs)}")


def _software(pair: Pair, new: Record) -> Finding:
    wrong = _unequal(pair.old.software, new.software)
    if not wrong:
        return _finding(pair, "software", Verdict.REPRODUCED, "the same versions")
    names = ", ".join(f"{name} {new.software.get(name)}, was {pair.old.software.get(name)}" for name in wrong)
    if pair.likeness is Likeness.SAME:
        return _finding(pair, "software", Verdict.DIFFERS, names)
    return _finding(pair, "software", Verdict.INCONCLUSIVE, f"{pair.likeness}: {names}")


def _counts(pair: Pair, new: Record) -> Finding:
    for then, now in (
        (pair.old.counts, new.counts),
        (pair.old.expected_counts, new.expected_counts),
    ):
        wrong = _unequal(then, now)
        if wrong:
            said = ", ".join(f"{name} {now.get(name)}, was {then.get(name)}" for name in wrong)
            return _finding(pair, "counts", Verdict.DIFFERS, said)
    return _finding(pair, "counts", Verdict.REPRODUCED, "the same work was done")


def _bytes(pair: Pair, new: Record) -> list[Finding]:
    """The finding on output files, where the implementation promises bytes.

    Without a promise the gate has judged them.
    """
    promise = pair.old.determinism
    if promise is Determinism.NONE:
        return []
    found = []
    # A referee asks each launch for repetitions of its own too.
    written = {
        name: new.outputs[name] for name in new.outputs if name in pair.old.outputs or not pair.old.referee
    }
    wrong = _unequal(pair.old.outputs, written)
    compared = [("outputs", wrong, _files(pair.old.outputs))]
    if pair.old.episodes is not None or new.episodes is not None:
        then, now = pair.old.played, new.played
        apart = next((index for index, (a, b) in enumerate(zip(then, now, strict=False)) if a != b), None)
        if apart is None and len(then) != len(now):
            apart = min(len(then), len(now))
        compared.append(("episodes", [] if apart is None else [f"episode {apart}"], f"{len(then)} episodes"))
    obstacle = why_no_bytes(pair, new) if promise is Determinism.MACHINE else None
    for name, different, all_of in compared:
        if not different:
            found.append(_finding(pair, name, Verdict.REPRODUCED, f"the same bytes in {all_of}"))
            continue
        why = f"other bytes in {', '.join(different)}"
        if obstacle is None:
            found.append(_finding(pair, name, Verdict.DIFFERS, why))
        else:
            reason = f"{why}, which are promised on one CPU model and image alone; {obstacle}"
            found.append(_finding(pair, name, Verdict.INCONCLUSIVE, reason))
    return found


def _sides(
    olds: Sequence[Record], news: Sequence[Record], values: Callable[[Record], Sequence[float]]
) -> tuple[Processes, Processes]:
    """The old and the new values: one tuple for each process that has values."""
    sides = [
        tuple(found for record in records if (found := tuple(values(record)))) for records in (olds, news)
    ]
    return sides[0], sides[1]


def _peak(record: Record) -> Sequence[float]:
    peak = record.memory.vmhwm_bytes
    return () if peak is None else (float(peak),)


def _compare(
    name: str,
    sides: tuple[Processes, Processes],
    obstacle: str | None,
    *,
    informational: bool,
    busy: str | None = None,
) -> Finding:
    old, new = sides
    if not old or not new:
        return Finding(
            figure=name,
            verdict=Verdict.INCONCLUSIVE if informational else Verdict.DIFFERS,
            why="it is not measured any more",
            informational=informational,
        )
    then, now = figure(old), figure(new)
    ratio: Interval | None = None
    try:
        ratio = ratio_interval(new, old)
        verdict, why = verdict_of(ratio)
    except ValueError:
        verdict, why = Verdict.INCONCLUSIVE, "a zero has no ratio"
    too_wide = verdict is Verdict.INCONCLUSIVE and ratio is not None and ratio.ranked and obstacle is None
    if verdict is Verdict.DIFFERS and busy is not None:
        verdict, why = Verdict.INCONCLUSIVE, f"{why}; {busy}"
    if obstacle is not None:
        verdict, why = Verdict.INCONCLUSIVE, obstacle
        # A figure that may not be judged gets no ratio; both values are shown side by side.
        ratio = None
    return Finding(
        figure=name,
        verdict=verdict,
        why=why,
        informational=informational,
        then=then,
        now=now,
        ratio=ratio,
        too_wide=too_wide,
    )


def _unequal(then: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """The names with different values, or with a value on one side only."""
    return sorted(name for name in then.keys() | now.keys() if then.get(name) != now.get(name))


def _files(hashes: Mapping[str, str]) -> str:
    return f"{len(hashes)} file{'' if len(hashes) == 1 else 's'}"
