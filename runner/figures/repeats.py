"""Which rooms need more processes: those where an interval is wider than the user asked for, while a budget lasts.

A room grows as a whole, by the same new seeds for each of its implementations, so that drift of the machine meets all
of them alike. The number of processes follows from the width of the widest interval, at most doubled in one step. So
there are few looks at the data, each of which could end the run by luck (docs/decisions/enough-processes.md).
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from runner.executors.base import Executor
from runner.figures.comparison import processes
from runner.figures.precision import enough
from runner.figures.statistics import LEAST_PROCESSES, figure_interval
from runner.planning.cells import content_key
from runner.planning.estimates import duration
from runner.planning.launches import launches_of
from runner.planning.planned import Decision, Launch, Plan, PlannedCell, room_of
from runner.records.key import newest_key_version
from runner.records.record import Record
from runner.records.store import newest_by_key
from runner.system import machine
from runner.system.budget import Budget


@dataclass(frozen=True, kw_only=True)
class Repeats:
    """The rule by which a run goes on.

    Attributes:
        plan: what ran first. Only rooms of which it ran at least five processes grow.
        executor: which ran it.
        target: half of a 95 % interval as a share of the figure, 0.02 for 2 %.
        minutes: the budget of all launches of this rule; it begins with the first call.
        say: reports what is done and why nothing more is.
    """

    plan: Plan
    executor: Executor
    target: float
    minutes: float
    say: Callable[[str], None]

    @cached_property
    def _budget(self) -> Budget:
        return Budget(self.minutes)

    def __call__(self, records: Sequence[Record]) -> list[Launch]:
        """The launches of one more round, given all records of the run; none where it is done."""
        rooms: dict[tuple[str, ...], list[Launch]] = {}
        for launch in self.plan.launches:
            if launch.execution.ranked and not launch.first.judges:
                rooms.setdefault(room_of(launch.first), []).append(launch)
        return [launch for launches in rooms.values() for launch in self._more(launches, records)]

    def _more(self, launches: Sequence[Launch], records: Sequence[Record]) -> list[Launch]:
        """The next launches of one room."""
        room = room_of(launches[0].first)
        own = [*self._reused(room), *(record for record in records if _room_of(record) == room)]
        seeds = sorted({record.seed for record in own})
        needed = _needed(own, launches[0].first.benchmark.headline, self.target)
        missing = min(needed - len(seeds), len(seeds))
        if len(seeds) < LEAST_PROCESSES or missing <= 0:
            return []
        seconds = sum({each.launch.id: each.launch.wall_seconds for each in own}.values()) / len(seeds)
        count = min(missing, self._budget.rounds(seconds))
        if not count:
            self.say(
                f"{' '.join(room)}: the budget is used up: one more process of each takes {duration(seconds)}"
            )
            return []
        self.say(f"{' '.join(room)}: {count} more processes of each, of about {needed} that would be enough")
        new = range(seeds[-1] + 1, seeds[-1] + 1 + count)
        cells = self._cells_of(room)
        return self._launches([self._repeated(each, seed) for seed in new for each in cells], launches[0])

    def _reused(self, room: tuple[str, ...]) -> list[Record]:
        """The records of a room that the plan took from the store."""
        keys = {
            each.key
            for each in self.plan.cells
            if each.decision is Decision.REUSE and room_of(each.cell) == room
        }
        return [record for key, record in newest_by_key(self.plan.records).items() if key in keys]

    def _cells_of(self, room: tuple[str, ...]) -> list[PlannedCell]:
        """One cell for each implementation and case of a room, whether this run had to measure it or not."""
        found: dict[tuple[str, str], PlannedCell] = {}
        for each in self.plan.cells:
            if room_of(each.cell) == room and each.decision is not Decision.LEAVE_OUT:
                found.setdefault((each.cell.implementation.name, each.cell.case.name), each)
        return list(found.values())

    def _launches(self, cells: Sequence[PlannedCell], like: Launch) -> list[Launch]:
        made = launches_of(cells, self.plan.executions, lambda _: like.deadline_seconds)
        return [replace(each, target_precision=self.target) for each in made]

    def _repeated(self, planned: PlannedCell, seed: int) -> PlannedCell:
        """The same cell at another seed, judged by the same reference."""
        cell = replace(planned.cell, seed=seed)
        image = (cell.implementation.image.name, cell.toolchain.name, cell.platform.name)
        key = content_key(
            cell,
            execution_hash=self.plan.execution_hashes[image],
            execution=self.plan.executions[cell.platform.name],
            executor=self.executor.name,
            machine=machine.fingerprint(self.plan.machines[cell.platform.name]),
        )
        why = f"its interval is wider than {self.target:.3g} of the figure"
        return replace(
            planned,
            cell=cell,
            key=key,
            key_version=newest_key_version(),
            decision=Decision.RUN,
            why=why,
            record=None,
        )


def _needed(records: Iterable[Record], headline: str, target: float) -> int:
    """How many processes the widest interval of a room asks for; 0 where none does."""
    rows: dict[tuple[str, str], list[Record]] = {}
    for record in records:
        if not record.failed:
            rows.setdefault((record.implementation, record.case), []).append(record)
    values = [found for row in rows.values() if (found := processes(row, headline))]
    return max((enough(figure_interval(each), target) or 0 for each in values), default=0)


def _room_of(record: Record) -> tuple[str, str, str, str]:
    """The room of a record, as `room_of` names that of a cell."""
    cell = record.cell
    return cell.toolchain, cell.limits, cell.platform, cell.benchmark
