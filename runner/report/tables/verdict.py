"""The answer in one sentence: what the ranked rooms of a machine say of ours against everything else."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from runner.figures.comparison import natural_order
from runner.figures.statistics import LEAST_PROCESSES, Interval, Verdict, verdict
from runner.matrix import Kind, Side
from runner.records.execution import ExecutionKind
from runner.report.tables import units
from runner.report.tables.learning import steps_until_learnt
from runner.report.tables.selection import Room, Row

NOTHING_RANKED = "Nothing is ranked yet: a ratio needs five native processes of both sides."
_UNKNOWN_EXECUTION = (
    "Unranked, because a process in a container cannot tell whether it runs natively.",
    "Where it does, FORGE_BENCH_EXECUTION=native says so.",
)
_MOST_NAMED = 5


@dataclass(frozen=True, kw_only=True)
class _Compared:
    """Ours at one case, against the fastest row that is not ours."""

    room: Room
    case: str
    against: Row
    ratio: Interval

    @property
    def verdict(self) -> Verdict:
        return verdict(self.ratio)

    def __str__(self) -> str:
        figure = units.times(self.ratio)
        said = f"{self.room.benchmark.name} {self.case}, {figure} against {self.against.implementation.name}"
        open_still = self.verdict is Verdict.INCONCLUSIVE
        return f"{said} ({units.would_decide(self.ratio)})" if open_still else said


def verdict_in_words(rooms: Sequence[Room]) -> str:
    """One paragraph: each training's ratio to the reference's best variant and to libraries, then the operations.

    Args:
        rooms: of all benchmarks, on one machine.
    """
    rooms = _of_first_toolchain(rooms)
    ranked = [room for room in rooms if room.ranked and room.ordinary]
    trainings = [room for room in ranked if room.benchmark.kind is Kind.TRAINING]
    parts = [
        *_of_trainings(trainings),
        *_of_peers(trainings),
        *_of_learning(trainings),
        *_of_operations(ranked),
    ]
    return " ".join(parts) or _of_unknown_execution(rooms) or NOTHING_RANKED


def _of_first_toolchain(rooms: Sequence[Room]) -> Sequence[Room]:
    """The rooms of the first toolchain that was run. A benchmark's page compares it with the others."""
    run = dict.fromkeys(room.toolchain.name for room in rooms if room.execution)
    # A benchmark's first room is of the matrix's first toolchain, whether it was run or not.
    first = next((name for name in (rooms[0].toolchain.name, *run) if name in run), None) if rooms else None
    return [room for room in rooms if room.toolchain.name == first]


def _of_unknown_execution(rooms: Sequence[Room]) -> str:
    """The times of both sides beside each other, never divided; empty where no execution is unknown."""
    unknown = [room for room in rooms if room.execution and room.execution.kind is ExecutionKind.UNKNOWN]
    if not unknown:
        return ""
    timed = list(filter(None, (_both_times(room, case) for room in unknown for case in room.benchmark.cases)))
    unranked, what_to_say = _UNKNOWN_EXECUTION
    said = [f"The fastest of ours, then of all others: {_few(timed)}."] if timed else []
    return " ".join((unranked, *said, what_to_say))


def _both_times(room: Room, case: str) -> str | None:
    """Ours and the fastest competitor, each with its time; None where one of them has none."""
    ours = room.fastest(case, [Side.OURS])
    rows = (ours, None if ours is None else room.competitor(ours))
    shown = [
        f"{row.implementation.name} {units.figure_value(figure.value, room.benchmark.headline)}"
        for row in rows
        if row is not None and (figure := row.figure(room.benchmark.headline)) is not None
    ]
    return f"{room.benchmark.name} {case} {' and '.join(shown)}" if len(shown) == len(rows) else None


def _of_trainings(rooms: Sequence[Room]) -> Iterator[str]:
    said: dict[str, list[str]] = {}
    for room in rooms:
        for _, words in _against_fastest(room, Side.REFERENCE):
            said.setdefault(room.benchmark.reference.name, []).append(words)
    for reference, found in said.items():
        yield f"Our best implementation trains {_listed(found)} than the fastest variant of {reference} that was run."


def _of_peers(rooms: Sequence[Room]) -> Iterator[str]:
    """Each training's ratio to the fastest library that does the same work."""
    for room in rooms:
        for peer, words in _against_fastest(room, Side.PEER):
            yield f"The fastest library at the same work is {peer.implementation.name}: ours trains {words}."


def _of_learning(rooms: Sequence[Room]) -> Iterator[str]:
    """Which of these trainings no seed of any implementation learnt."""
    early = dict.fromkeys(room.benchmark.title for room in rooms if _learnt_nothing(room))
    if early:
        yield f"No seed of {_listed(early)} reached its threshold: these trainings ended before they had learnt."


def _learnt_nothing(room: Room) -> bool:
    returns = room.benchmark.returns
    if returns is None:
        return False
    passed = [record for row in room.rows for record in row.passed if record.case in returns.thresholds]
    return bool(passed) and all(steps_until_learnt(record, returns) is None for record in passed)


def _against_fastest(room: Room, side: Side) -> list[tuple[Row, str]]:
    """A training's cases in words, each with the fastest row of a side, where ours against it is ranked."""
    found: list[tuple[str, Row, Interval]] = []
    for case in room.benchmark.cases:
        ours, base = room.fastest(case, [Side.OURS]), room.fastest(case, [side])
        ratio = None if ours is None else room.ratio(base, ours)
        if base is not None and ratio is not None and ratio.n >= LEAST_PROCESSES:
            found.append((case, base, ratio))
    return [
        (base, f"{room.benchmark.title}{f' on {case}' if len(found) > 1 else ''} {_how(ratio)}")
        for case, base, ratio in found
    ]


def _how(ratio: Interval) -> str:
    figure = units.times(ratio)
    match verdict(ratio):
        case Verdict.FASTER | Verdict.SLOWER as said:
            return f"{figure} {said.value}"
        case _:
            return f"{figure}, which is inconclusive ({units.would_decide(ratio)}), faster"


def _of_operations(rooms: Sequence[Room]) -> Iterator[str]:
    found = [each for room in rooms if room.benchmark.kind is Kind.OPERATION for each in _compared(room)]
    if not found:
        return
    faster = sum(each.verdict is Verdict.FASTER for each in found)
    cases = "case" if len(found) == 1 else "cases"
    yield f"Ours is faster than every competitor in {faster} of {len(found)} {cases} of operations."
    for said, what in ((Verdict.SLOWER, "Slower"), (Verdict.INCONCLUSIVE, "Inconclusive")):
        named = [each for each in found if each.verdict is said]
        if named:
            yield f"{what}: {_few(named)}."


def _compared(room: Room) -> Iterator[_Compared]:
    for case in sorted(room.benchmark.cases, key=natural_order):
        ours = room.fastest(case, [Side.OURS])
        against = None if ours is None else room.competitor(ours)
        ratio = None if ours is None else room.ratio(against, ours)
        if against is not None and ratio is not None and ratio.n >= LEAST_PROCESSES:
            yield _Compared(room=room, case=case, against=against, ratio=ratio)


def _few(found: Sequence[object]) -> str:
    more = f"; and {len(found) - _MOST_NAMED} more" if len(found) > _MOST_NAMED else ""
    return "; ".join(map(str, found[:_MOST_NAMED])) + more


def _listed(words: Iterable[str]) -> str:
    *before, last = words
    return f"{', '.join(before)} and {last}" if before else last
