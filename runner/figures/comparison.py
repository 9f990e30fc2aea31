"""How many times faster one implementation is than another, from the stored records alone."""

import json
import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

from runner.figures.statistics import Interval, Processes, Verdict, figure_interval, ratio_interval, verdict
from runner.records.execution import ExecutionKind
from runner.records.order import Age, age, oldest_first
from runner.records.record import Record, content_hash
from runner.records.verdicts import AUDITS
from runner.system import machine
from runner.system.errors import NothingToCompare


class Direction(Enum):
    """Whether a metric is better when it is higher or lower."""

    LESS = "less is better"
    MORE = "more is better"


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """One case on one platform: ``against`` is ``ratio`` times as fast as ``base``.

    ``ratio`` is base / against where less is better, and against / base where more is better. So above 1 always means
    that ``against`` is better. ``low`` and ``high`` bound its 95 % interval (None where a side has a single process).
    ``n`` is the smaller number of independent processes.
    """

    benchmark: str
    case: str
    platform: str
    toolchain: str
    limits: str
    profile: str
    metric: str
    direction: Direction
    base: str
    against: str
    base_figure: Interval
    against_figure: Interval
    ratio: float
    low: float | None
    high: float | None
    n: int
    verdict: Verdict


@dataclass(frozen=True, kw_only=True)
class Setting:
    """The facts that two records must share before their times are compared."""

    platform: str
    toolchain: str
    limits: str
    case: str
    machine: tuple[Any, ...]
    execution: str
    parameters: str


def direction(metric: str) -> Direction:
    """Whether less or more of ``metric`` is better: less of seconds and bytes, more of any other unit."""
    return Direction.LESS if metric.endswith(("seconds", "bytes")) else Direction.MORE


def improvement(base: Processes, against: Processes, metric: str) -> Interval:
    """How many times better ``against`` is than ``base``. Above 1 is better in either direction."""
    if direction(metric) is Direction.LESS:
        return ratio_interval(base, against)
    return ratio_interval(against, base)


def machine_of(record: Record) -> tuple[Any, ...]:
    """The facts that tell one machine from another (see ``runner.system.machine.fingerprint``)."""
    return tuple(machine.fingerprint(record.machine.plain()).values())


def image_of(record: Record) -> tuple[str, str]:
    """The image that a record's process executed: its target and its execution hash.

    Without Docker every target is the host, with its own hash, so the requested target counts.
    """
    target = record.work.target if record.work else record.image.target
    return target, record.image.execution_hash


def one_run(base: Iterable[Record], against: Iterable[Record]) -> bool:
    """Whether records of two implementations were measured in one run: a nonce is drawn for each run.

    Seeds of several runs count together where each seed of both sides is of the same run. Otherwise one side may have
    more processes of a slow day. Of records without a referee nothing tells their run, and they may be compared.
    """
    sides = [
        {record.seed: record.referee.nonce if record.referee else None for record in side}
        for side in (base, against)
    ]
    runs = [set(side.values()) for side in sides]
    return runs[0] == runs[1] and (len(runs[0]) <= 1 or sides[0] == sides[1])


def processes(records: Iterable[Record], metric: str) -> tuple[tuple[float, ...], ...]:
    """The values of ``metric``, one tuple of repetitions per record; records without it are left out."""
    return tuple(values for record in records if (values := record.values(metric)))


def newest_work(records: Sequence[Record]) -> list[Record]:
    """The records of the same work (see `same_work`) and place, only the newest of each cell.

    A failure replaces an earlier pass, so a caller that wants no failures drops them afterwards.
    """
    kept = same_work(records)
    return list({(record.case, record.implementation, record.seed): record for record in kept}.values())


def believed(records: Sequence[Record]) -> list[Record]:
    """Without the passed cells of an implementation whose audited launch failed its audit.

    One launch of several is audited. What it shows is true of all of them.
    """
    caught = {
        (record.case, record.implementation)
        for record in records
        if any(each.check in AUDITS and not each.passed for each in record.gate)
    }
    return [
        record for record in records if record.failed or (record.case, record.implementation) not in caught
    ]


def same_work(records: Sequence[Record]) -> list[Record]:
    """The records of a benchmark (oldest first) that belong together.

    After an edit of the matrix old records lie beside new ones, because no image holds commands, limits and gates. So
    all returned records share these facts with the newest record.
    """
    terms = [_terms(record) for record in records]
    newest: dict[tuple[str, ...], str] = {}
    for each in terms:
        newest.update(each)
    return [record for record, mine in zip(records, terms, strict=True) if mine.items() <= newest.items()]


def _terms(record: Record) -> dict[tuple[str, ...], str]:
    """The facts that a record must share, each under a name that says with which other records.

    The image is shared by records of one target and architecture. Inputs, counts and limits are shared by all
    records, because a ratio of different ones means nothing. The command and the gate are shared by records of one
    implementation and case.
    """
    target, execution_hash = image_of(record)
    # A record of the first schema has no work, so only its command is known.
    work = record.work.plain() if record.work else {}
    inputs, reference = (work.get(part, {}).get("command") for part in ("inputs", "reference"))
    own = [work.get(part) for part in ("headline", "gate", "toolchain")]
    return {
        ("image", target, record.image.architecture): execution_hash,
        ("inputs",): content_hash([inputs, work.get("counts")]),
        ("limits", record.cell.limits): content_hash(work.get("limits")),
        ("work", record.case, record.implementation): content_hash(
            [record.command, bool(record.differs), reference, *own]
        ),
    }


def compare(
    records: Iterable[Record],
    *,
    benchmark: str,
    base: str,
    against: str,
    metric: str,
    case: str | None = None,
    architectures: Sequence[str] = (),
) -> list[Comparison]:
    """How many times faster ``against`` is than ``base``, for each case and platform that has both.

    Times are compared only within one platform, machine, execution, toolchain, limits and set of parameters, and
    within the newest work (see `newest_work`). Several profiles may have run several sets of parameters. Then a set
    with at least five processes counts, and of several such sets the newest.

    Args:
        records: the store's, in any order.
        benchmark: the benchmark's name.
        base: the implementation that is 1.
        against: the implementation that is compared with it.
        metric: the metric's name. By default a user means the benchmark's headline.
        case: this case only.
        architectures: these only, by Docker's names; empty for all.

    Raises:
        NothingToCompare: no two records may be compared; the message says why.
    """
    found = oldest_first(
        record
        for record in records
        if record.benchmark == benchmark
        and record.implementation in (base, against)
        and case in (None, record.case)
        and (not architectures or record.image.architecture in architectures)
    )
    names = tuple(dict.fromkeys((base, against)))
    places = f" on {' and '.join(architectures)}" if architectures else ""
    subject = f"{benchmark}{f' {case}' if case else ''}{places}"
    groups = {setting: believed(newest_work(members)) for setting, members in by_setting(found).items()}
    _require_ranked(found, [record for members in groups.values() for record in members], names, subject)
    best: dict[tuple[str, str, str, str], tuple[tuple[bool, Age], Comparison]] = {}
    for setting, members in groups.items():
        result = _compare_one(
            setting,
            members=members,
            benchmark=benchmark,
            base=base,
            against=against,
            metric=metric,
            subject=subject,
        )
        if result is not None:
            place = (setting.platform, setting.toolchain, setting.limits, setting.case)
            weight = (result.verdict is not Verdict.NOT_RANKED, age(members[-1]))
            if place not in best or weight > best[place][0]:
                best[place] = (weight, result)
    if not best:
        _refuse_apart([record for record in found if record.ranked], names, metric, subject)
    return [best[place][1] for place in sorted(best, key=lambda place: (place[:3], natural_order(place[3])))]


def as_json(comparisons: Sequence[Comparison]) -> str:
    """One object where there is one result, a list otherwise; with keys ratio, low, high and n."""
    objects = [_as_object(result) for result in comparisons]
    return json.dumps(objects[0] if len(objects) == 1 else objects, indent=1, allow_nan=False)


def as_text(comparisons: Sequence[Comparison], *, toolchain: str, limits: str) -> str:
    """The text for people, within 80 columns: a heading for each benchmark and platform, and a line for each case.

    Args:
        comparisons: the ratios to show.
        toolchain: the one that no heading names.
        limits: those that no heading names.
    """
    lines: list[str] = []
    heading = ""
    for each in comparisons:
        aside = [name for name in (each.toolchain, each.limits) if name not in (toolchain, limits)]
        title = (
            f"{each.benchmark} on {', '.join((each.platform, *aside))}: {each.against} against {each.base}"
        )
        if title != heading:
            lines += ["", title] if lines else [title]
            lines.append(
                f"  {each.metric}, {each.direction.value}; above 1 means that {each.against} is better"
            )
            heading = title
        lines.append(f"  {each.case:<16} {_ratio_text(each):<34} n={each.n}  {_verdict_text(each)}")
    return "\n".join(lines)


def _ratio_text(result: Comparison) -> str:
    if result.low is None or result.high is None:
        return f"{result.ratio:.3g} times, no interval"
    return f"{result.ratio:.3g} times ({result.low:.3g} to {result.high:.3g})"


def _verdict_text(result: Comparison) -> str:
    return "not ranked: n<5" if result.verdict is Verdict.NOT_RANKED else result.verdict.value


def _as_object(result: Comparison) -> dict[str, Any]:
    return {
        "benchmark": result.benchmark,
        "case": result.case,
        "platform": result.platform,
        "toolchain": result.toolchain,
        "limits": result.limits,
        "profile": result.profile,
        "metric": result.metric,
        "direction": result.direction.value,
        "base": result.base,
        "against": result.against,
        "base_value": result.base_figure.value,
        "against_value": result.against_figure.value,
        "ratio": result.ratio,
        "low": result.low,
        "high": result.high,
        "n": result.n,
        "verdict": result.verdict.value,
    }


def by_setting(records: Iterable[Record]) -> Mapping[Setting, list[Record]]:
    """The records by the facts that two must share before their times are compared."""
    groups: dict[Setting, list[Record]] = {}
    for record in records:
        setting = Setting(
            platform=record.platform,
            toolchain=record.cell.toolchain,
            limits=record.cell.limits,
            case=record.case,
            machine=machine_of(record),
            execution=record.execution.kind.value,
            parameters=json.dumps(record.parameters, sort_keys=True),
        )
        groups.setdefault(setting, []).append(record)
    return groups


def _compare_one(
    setting: Setting,
    *,
    members: Sequence[Record],
    benchmark: str,
    base: str,
    against: str,
    metric: str,
    subject: str,
) -> Comparison | None:
    timed = [record for record in members if record.is_timed]
    if not all(record.judged for record in timed):
        # The fast processes have the short windows: without them the others would say too much.
        return None
    own = [[record for record in timed if record.implementation == name] for name in (base, against)]
    sides = [processes(records, metric) for records in own]
    if not all(sides) or not one_run(*own):
        return None
    try:
        ratio = improvement(sides[0], sides[1], metric)
    except ValueError as error:
        raise NothingToCompare(
            what=f"{subject}: no ratio of {metric} between {base} and {against}",
            why=f"{error}; {metric} of a record is zero, or next to it",
            fix="choose another metric with --metric",
        ) from error
    return Comparison(
        benchmark=benchmark,
        case=setting.case,
        platform=setting.platform,
        toolchain=setting.toolchain,
        limits=setting.limits,
        profile=timed[-1].profile,
        metric=metric,
        direction=direction(metric),
        base=base,
        against=against,
        base_figure=figure_interval(sides[0]),
        against_figure=figure_interval(sides[1]),
        ratio=ratio.value,
        low=ratio.low,
        high=ratio.high,
        n=ratio.n,
        verdict=verdict(ratio),
    )


def _require_ranked(
    found: Sequence[Record], newest: Sequence[Record], names: Sequence[str], subject: str
) -> None:
    for name in names:
        if all(record.implementation != name for record in found):
            raise NothingToCompare(
                what=f"{subject}: nothing to compare {name} by",
                why=f"the store has no record of {name} there",
                fix="run it first: python -m runner --only "
                + shlex.quote(f"{subject.split(maxsplit=1)[0]}/{name}"),
            )
        mine = [record for record in newest if record.implementation == name]
        if mine and not any(record.ranked for record in mine):
            raise NothingToCompare(
                what=f"{subject}: the times of {name} cannot be compared",
                why=_why_unranked(mine),
                fix="run it natively on this architecture with python -m runner, and correct the failed cells",
            )


def _why_unranked(records: Sequence[Record]) -> str:
    """Why none of these records is ranked, in words."""
    failed = [record.failure.kind for record in records if record.failure is not None]
    passed = [record for record in records if not record.failed]
    executed = [record.execution.kind for record in passed]
    kinds = ", ".join(sorted(set(failed)))
    reasons = {
        f"failed ({kinds})": len(failed),
        "emulated (emulated times say nothing about hardware)": executed.count(ExecutionKind.EMULATED),
        "of unknown execution (the records do not say whether they ran natively)": executed.count(
            ExecutionKind.UNKNOWN
        ),
        "not the same work (its page says what differs)": sum(bool(record.differs) for record in passed),
        "not judged (a window shorter than 20 of the slowest round trips)": sum(
            not record.judged for record in passed
        ),
    }
    return f"of {len(records)} records: " + ", ".join(
        f"{count} {why}" for why, count in reasons.items() if count
    )


def _refuse_apart(ranked: Sequence[Record], names: Sequence[str], metric: str, subject: str) -> None:
    lacking = [
        name for name in names if not processes((r for r in ranked if r.implementation == name), metric)
    ]
    if lacking:
        known = sorted({key for record in ranked for key in record.metrics})
        raise NothingToCompare(
            what=f'{subject}: no metric "{metric}"',
            why=f"{' and '.join(lacking)} did not measure it; measured were {', '.join(known)}",
            fix="choose one of those with --metric",
        )
    raise NothingToCompare(
        what=f"{subject}: the records of {' and '.join(names)} may not be compared",
        why="they differ in platform, machine, image, inputs, toolchain, limits or parameters, are of two runs, or "
        "some windows are too short to be judged",
        fix="run both with the same profile on the same machine: python -m runner --only "
        + shlex.quote(subject.split(maxsplit=1)[0]),
    )


def natural_order(name: str) -> tuple[Any, ...]:
    """A sorting key that puts T=128 before T=2048."""
    return tuple(int(part) if part.isdigit() else part for part in re.split(r"([0-9]+)", name))
