"""The cost of a call from Python into Rust beside its work, and the decision that follows.

A call steps a number of environments. Through the module a call takes the kernel's time and the crossing's time. The
crossing turns Python's objects into Rust's and back. A decision rests only on intervals of native measurements.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass

from runner.figures.statistics import Interval, Verdict, verdict
from runner.matrix import Side
from runner.report.tables import texts, units
from runner.report.tables.markdown import Table
from runner.report.tables.selection import Room, Row
from runner.report.tables.units import NOTHING

# A call is worth its crossing where most of its time is the kernel's work.
WORTH_IT = 0.5


@dataclass(frozen=True, kw_only=True)
class Crossing:
    """The page's part: one row for each case, the decisions, and the open questions."""

    steps: Table
    worth_it: str
    decided: tuple[str, ...]
    undecided: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class _Call:
    """One case with all facts of a decision. Times are for a step of one environment, in seconds."""

    case: str
    environments: int
    module: float
    kernel: float
    share: Interval
    """The crossing's share of a call's time."""
    gain: Interval
    """How many times faster the module is than the fastest implementation on the reference's side."""
    other_work: tuple[str, float] | None
    """The implementation with other work that has a smaller median, and this median."""

    @property
    def saved(self) -> float:
        """The time that a step saves without a crossing."""
        return self.module - self.kernel


def crossing(room: Room) -> Crossing:
    """The facts in the room's records about the crossing, and the missing facts."""
    cases = list(room.parameters)
    calls, undecided = [], []
    for case in cases:
        found = _call(room, case)
        if isinstance(found, _Call):
            calls.append(found)
        else:
            undecided.append(f"{case}: {found}")
    calls.sort(key=lambda call: (call.environments, cases.index(call.case)))
    return Crossing(
        steps=_steps(room, cases),
        worth_it=f"{WORTH_IT:.0%}",
        decided=tuple(_decided(calls)),
        undecided=tuple(undecided),
    )


def _decided(calls: list[_Call]) -> list[str]:
    if not calls:
        return []
    sentences = []
    worth = [call for call in calls if _below(call)]
    # The smallest batch from which on the crossing is never the larger part.
    paying = [call for call in worth if all(other in worth for other in calls if _larger(other, call))]
    if not paying:
        largest = calls[-1]
        sentences.append(
            f"At no size measured is the crossing shown to be less than {WORTH_IT:.0%} of a call; "
            f"at {largest.case} it is {_share(largest)}. What is called this often belongs into Rust as a whole."
        )
    elif paying[0] is calls[0]:
        sentences.append(
            f"Step by step is no loss: already at {paying[0].case} the crossing is {_share(paying[0])} of a call."
        )
    else:
        before = [call for call in calls if call not in paying]
        sentences.append(
            f"Cross once per batch, of {_environments(paying[0])} at least: at {paying[0].case} the crossing is "
            f"{_share(paying[0])} of a call. With fewer a call it is up to {_share(max(before, key=_share_of))}."
        )
    first, last = calls[0], calls[-1]
    sentences.append(
        f"The whole loop in Rust saves {units.seconds(first.saved)} a step over the module at {first.case}"
        + (f", and {units.seconds(last.saved)} at {last.case}." if last is not first else ".")
        if first.saved > 0 and last.saved > 0
        else "No time is saved by keeping the whole loop in Rust."
    )
    return [*sentences, *_gains(calls)]


def _gains(calls: list[_Call]) -> Iterator[str]:
    """A sentence for each verdict on the module's environments against Python's, both stepped from Python."""
    for said in (Verdict.FASTER, Verdict.INCONCLUSIVE, Verdict.SLOWER):
        these = [call for call in calls if verdict(call.gain) is said]
        if these:
            ratios = sorted(call.gain.value for call in these)
            span = " to ".join(
                dict.fromkeys(f"{units.significant(each)}x" for each in (ratios[0], ratios[-1]))
            )
            where = ", ".join(call.case for call in these)
            yield f"Stepped from Python, the module against the fastest in Python: {span} {said.value} ({where})."
    for name in dict.fromkeys(call.other_work[0] for call in calls if call.other_work):
        times = [
            f"{units.seconds(call.other_work[1])} a call at {call.case}"
            for call in calls
            if call.other_work and call.other_work[0] == name
        ]
        yield f"In Python, with a smaller median at work that is not the same: {name}, {', '.join(times)}."


def _call(room: Room, case: str) -> _Call | str:
    """The case's figures, or why no decision may rest on them."""
    if not room.ranked:
        return "these times are not compared"
    metric = room.benchmark.headline
    sides = {side: room.fastest(case, [side]) for side in (Side.REFERENCE, Side.OURS, Side.KERNEL)}
    lacking = [_absent(room, case, side) for side, row in sides.items() if row is None]
    reference, module, kernel = sides.values()
    if reference is None or module is None or kernel is None:
        return "; ".join(lacking)
    slower, gain = room.ratio(module, kernel), room.ratio(reference, module)
    figures = module.figure(metric), kernel.figure(metric)
    if slower is None or gain is None or figures[0] is None or figures[1] is None:
        return "times that make no ratio"
    if not slower.ranked or not gain.ranked:
        return "fewer than five processes"
    environments = int(room.parameters[case].get("environments", 1))
    return _Call(
        case=case,
        environments=environments,
        module=figures[0].value / environments,
        kernel=figures[1].value / environments,
        share=_share_interval(slower),
        gain=gain,
        other_work=_other_work(room, case),
    )


def _other_work(room: Room, case: str) -> tuple[str, float] | None:
    row = room.faster_at_other_work(case)
    figure = row.figure(room.benchmark.headline) if row else None
    return (row.implementation.name, figure.value) if row and figure else None


def _share_interval(slower: Interval) -> Interval:
    """The crossing's share, from the ratio of the module's time to the kernel's time: 1 - 1 / ratio."""
    return Interval(
        value=_share_of_ratio(slower.value),
        low=None if slower.low is None else _share_of_ratio(slower.low),
        high=None if slower.high is None else _share_of_ratio(slower.high),
        n=slower.n,
    )


def _share_of_ratio(slower: float) -> float:
    return 1 - 1 / slower if slower > 0 else -math.inf


def _absent(room: Room, case: str, side: Side) -> str:
    """Why the implementations of a side have no time, by name."""
    rows = [row for row in room.of_case(case) if row.side is side and row.same_work]
    return ", ".join(f"{row.implementation.name} {texts.state(row) or 'has no time'}" for row in rows) or (
        f"the matrix has nothing of the side {side.value}"
    )


def _steps(room: Room, cases: list[str]) -> Table:
    sides = (Side.REFERENCE, Side.OURS, Side.KERNEL)
    return Table(
        headers=(
            "case",
            "environments a call",
            "a step in Python",
            "through the module",
            "in Rust",
            "crossing a call",
            "share of the call",
        ),
        rows=tuple(
            _row(room, case, *(room.fastest(case, [side]) for side in sides))
            for case in cases
            if room.of_case(case)
        ),
    )


def _row(room: Room, case: str, *rows: Row | None) -> tuple[str, ...]:
    environments = int(room.parameters[case].get("environments", 1))
    times = [
        figure.value if row and (figure := row.figure(room.benchmark.headline)) else None for row in rows
    ]
    _, module, kernel = times
    crossed, share = NOTHING, NOTHING
    if room.ranked and module is not None and kernel is not None:
        difference = module - kernel
        crossed = units.seconds(difference) if difference > 0 else "none"
        share = f"{max(difference, 0) / module:.0%}" if module > 0 else f"{NOTHING} (a time of zero)"
    return (
        case,
        units.count(environments),
        *(
            NOTHING
            if time is None or row is None
            else f"{units.seconds(time / environments)}: {row.implementation.name}"
            for time, row in zip(times, rows, strict=True)
        ),
        crossed,
        share,
    )


def _below(call: _Call) -> bool:
    return call.share.high is not None and call.share.high < WORTH_IT


def _larger(call: _Call, than: _Call) -> bool:
    return call.environments > than.environments


def _environments(call: _Call) -> str:
    return f"{units.count(call.environments)} environment{'' if call.environments == 1 else 's'}"


def _share_of(call: _Call) -> float:
    return call.share.value


def _share(call: _Call) -> str:
    """`82 % (81 to 83)`."""
    bounds = (call.share.low, call.share.high)
    text = f"{100 * call.share.value:.0f} %"
    if bounds[0] is None or bounds[1] is None:
        return text
    return f"{text} ({100 * bounds[0]:.0f} to {100 * bounds[1]:.0f})"
