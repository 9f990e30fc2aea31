"""Compare old records with new ones: one finding for each figure, by rules that are printed beside the result."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

from runner.figures.statistics import LEAST_PROCESSES, Interval, Processes, figure, ratio_interval
from runner.matrix import Determinism
from runner.planning.cpu_differences import unlike_cpus
from runner.records.failure import FailureKind
from runner.records.record import Record, content_hash
from runner.verify.images import Likeness

# A time or a peak of memory is reproduced where new over old lies within these bounds.
TOLERANCE = (0.8, 1.25)
# The facts that decide whether two machines are one model. Speed and the choice of vectorised kernels follow from
# them.
_MODEL = ("cpu_model", "architecture", "simd", "caches")
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
_NEVER = "emulated times are never judged"


class Verdict(Enum):
    """The verdict on a figure."""

    REPRODUCED = "reproduced"
    DIFFERS = "differs"
    INCONCLUSIVE = "inconclusive"


@dataclass(frozen=True, kw_only=True)
class Pair:
    """A record, and the new record of its cell; or why there is no new record."""

    old: Record
    new: Record | None
    why_not: str | None
    likeness: Likeness


@dataclass(frozen=True, kw_only=True)
class Finding:
    """The verdict on one figure of one record.

    A figure that takes several processes is of all records of a cell (``seed`` is None). ``informational`` findings
    are shown and decide nothing. ``ratio`` is new over old with its interval. ``then`` and ``now`` are the two
    figures, in the unit of the metric's name.
    """

    figure: str
    verdict: Verdict
    why: str
    seed: int | None = None
    record: str | None = None
    informational: bool = False
    then: float | None = None
    now: float | None = None
    ratio: Interval | None = None


@dataclass(frozen=True, kw_only=True)
class Judged:
    """The records of one cell at all its seeds, with their findings."""

    pairs: tuple[Pair, ...]
    findings: tuple[Finding, ...]

    @property
    def first(self) -> Record:
        """One of the records. They differ only in the seed."""
        return self.pairs[0].old

    @property
    def headline(self) -> str:
        """The metric that tables rank by; older records do not name it."""
        return self.first.work.headline if self.first.work else "headline"

    @property
    def processes(self) -> int:
        """How many processes gave the old figures."""
        return len({pair.old.seed for pair in self.pairs})


def judge(pairs: Iterable[Pair]) -> tuple[Judged, ...]:
    """All findings, cell by cell, in the order in which the cells first appear."""
    cells: dict[str, list[Pair]] = {}
    for pair in pairs:
        cells.setdefault(_cell_of(pair.old), []).append(pair)
    return tuple(
        Judged(
            pairs=tuple(members),
            findings=(*(found for pair in members for found in exact(pair)), *by_interval(members)),
        )
        for members in cells.values()
    )


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
    both = {
        pair.old.seed: (pair.old, pair.new)
        for pair in pairs
        if pair.new is not None and not pair.old.failed and not pair.new.failed
    }
    if not both:
        return ()
    olds, news = [old for old, _ in both.values()], [new for _, new in both.values()]
    obstacle = _why_no_times(pairs, olds[0], news)
    headline = olds[0].work.headline if olds[0].work else None
    found = []
    for metric in olds[0].metrics:
        sides = _sides(olds, news, lambda record, name=metric: record.values(name))  # type: ignore[misc]  # mypy infers no default
        found.append(_compare(metric, sides, obstacle, informational=metric != headline))
    memory = _sides(olds, news, _peak)
    if memory[0]:
        why = obstacle or _why_no_memory(olds, news)
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


def other_machine(old: Mapping[str, Any], new: Mapping[str, Any]) -> str | None:
    """Why two machines are not one model, or None."""
    if old.get("cpu_model") is None or new.get("cpu_model") is None:
        return "the CPU model is unknown"
    for name in _MODEL:
        if old.get(name) != new.get(name):
            return f"another machine: {name.replace('_', ' ')} {_brief(new.get(name))}, was {_brief(old.get(name))}"
    return None


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
            "machine": [described.get(name) for name in _MODEL],
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
        passed = [sorted(check.check for check in record.gate if check.passed) for record in (pair.old, new)]
        if passed[0] != passed[1]:
            return _finding(pair, "gate", Verdict.DIFFERS, f"other checks: {passed[1]}, were {passed[0]}")
        return _finding(pair, "gate", Verdict.REPRODUCED, f"passed again, {len(passed[1])} checks")
    if then is not None and now is not None and then.kind == now.kind:
        return _finding(pair, "gate", Verdict.REPRODUCED, f"failed again: {now.kind}")
    was = "passed" if then is None else f"failed ({then.kind})"
    is_ = "passes" if now is None else f"fails ({now.kind}: {now.detail})"
    why = f"it {was} and now {is_}"
    kinds = {failure.kind for failure in (then, now) if failure is not None}
    circumstance = _circumstance(pair, new)
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
    obstacle = _why_no_bytes(pair, new) if promise is Determinism.MACHINE else None
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


def _why_no_bytes(pair: Pair, new: Record) -> str | None:
    """Why an implementation that promises bytes on one machine and image may give other bytes here."""
    if pair.likeness is not Likeness.SAME and not _same_host(pair.old, new):
        return str(pair.likeness)
    if pair.old.execution.kind != new.execution.kind:
        return f"executed {new.execution.kind.value}, was {pair.old.execution.kind.value}"
    return other_machine(pair.old.machine.plain(), new.machine.plain())


def _same_host(old: Record, new: Record) -> bool:
    """Whether both records, without images, have the same sources and the same software on the host."""
    images = (old.image, new.image)
    return (
        all(image.identity is None and image.config_digest is None for image in images)
        and old.image.execution_hash == new.image.execution_hash
        and old.software == new.software
    )


def _circumstance(pair: Pair, new: Record) -> str | None:
    """The causes outside the implementation that may have made a cell fail or pass."""
    if pair.likeness is Likeness.OTHER:
        return str(pair.likeness)
    if pair.old.execution.kind != new.execution.kind:
        return f"executed {new.execution.kind.value}, was {pair.old.execution.kind.value}"
    if pair.old.launch.executor != new.launch.executor:
        return f"run by the executor {new.launch.executor}"
    return other_machine(pair.old.machine.plain(), new.machine.plain())


def _why_no_times(pairs: Sequence[Pair], old: Record, news: Sequence[Record]) -> str | None:
    """Why the times of these records may not be judged, or None."""
    for record, said in (
        (old, _NEVER),
        *((new, f"emulated here, and {_NEVER}") for new in news),
    ):
        if record.execution.emulated:
            return said
        if not record.execution.ranked:
            return "the record does not say whether the execution was native"
    for new in news:
        if new.launch.executor != old.launch.executor:
            return f"run by the executor {new.launch.executor}, was {old.launch.executor}"
        different = other_machine(old.machine.plain(), new.machine.plain())
        if different is not None:
            return different
    for pair in pairs:
        if pair.new is None:
            continue
        unlike = unlike_cpus(pair.old.launch.limits, pair.new.launch.limits)
        if unlike is not None:
            return unlike
    worst = max(pair.likeness for pair in pairs)
    return str(worst) if worst is Likeness.OTHER else None


def _why_no_memory(olds: Sequence[Record], news: Sequence[Record]) -> str | None:
    """Why a peak may not be compared: a process's peak covers all cases that it served."""
    for old, new in zip(olds, news, strict=True):
        then, now = (sorted(record.launch.cases or ()) for record in (old, new))
        if then != now:
            return f"its process served {len(then)} cases, and {len(now)} now"
    return None


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
    name: str, sides: tuple[Processes, Processes], obstacle: str | None, *, informational: bool
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
    )


def _unequal(then: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """The names with different values, or with a value on one side only."""
    return sorted(name for name in then.keys() | now.keys() if then.get(name) != now.get(name))


def _files(hashes: Mapping[str, str]) -> str:
    return f"{len(hashes)} file{'' if len(hashes) == 1 else 's'}"


def _brief(value: Any) -> str:
    text = ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
    return text if len(text) <= 60 else f"{text[:57]}..."  # noqa: PLR2004 (60 with the dots)
