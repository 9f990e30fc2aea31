"""The run: prepares images, and carries out the planned launches of each machine one after another."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from runner.executors.base import Executor
from runner.planning.cells import Cell
from runner.planning.planned import Launch, Plan, by_machine, room_of
from runner.records.record import Record
from runner.records.store import Store
from runner.referee.nonce import new_secret
from runner.running.bookkeeping import book_of
from runner.running.in_order import in_order
from runner.running.launch import Accept, Surroundings
from runner.running.occasion import UNKNOWN, Occasion
from runner.running.preparation import in_turn, prepare
from runner.running.progress import Progress
from runner.running.side_by_side import SideBySide, turns
from runner.system.scratch import sweep_scratch


@dataclass(frozen=True, kw_only=True)
class Summary:
    """The result of a run: the records that it stored, in the order of the launches.

    ``away`` holds the platforms whose machines could not be reached any more, each with the reason.
    """

    records: Sequence[Record]
    away: Mapping[str, str]

    @property
    def failed(self) -> tuple[Record, ...]:
        """The records of the cells that failed."""
        return tuple(record for record in self.records if record.failed)


# Given all records of the run: what else is launched in the same plan, under the same secret.
More = Callable[[Sequence[Record]], Sequence[Launch]]
# Leaves the machines that the executor has reached, and gives what makes such an executor in another process.
Apart = Callable[[], Callable[[], Executor]]
# Told the first cell of a room whose launches have all ended, and all records of the run so far.
WhenWhole = Callable[[Cell, Sequence[Record]], None]


def run(
    plan: Plan,
    executor: Executor,
    store: Store,
    progress: Progress,
    *,
    occasion: Occasion = UNKNOWN,
    when_whole: WhenWhole = lambda _cell, _records: None,
    accept: Accept = lambda _record: None,
    more: More = lambda _records: (),
    apart: Apart | None = None,
) -> Summary:
    """Run the plan. Every finished cell is in the store and its ledger before the next launch starts.

    An error that ``accept`` raises of a record ends the run, and no record of that launch is stored. ``more`` gives
    further launches of the same plan, given all records of the run, until it gives none. With ``apart`` machines
    measure at the same time, each in a process of its own; without it one after another.

    Raises:
        ImageBuildFailed, PinMismatch, DockerUnavailable, StoreError: nothing more can be run. A damaged ledger is a
            StoreError.
    """
    _sweep(executor, store, progress.say)
    away: dict[str, str] = {}
    first, *others = in_turn(plan, executor)
    images, secret = prepare(first, executor, store, away, progress.say), new_secret()
    progress.begin(plan.launches, plan.records, machines=plan.machines)
    records: list[Record] = []
    if plan.launches:
        with book_of(
            plan,
            ledger=store.ledger_path,
            executor=executor.name,
            images=[facts for facts, _ in images.values()],
            secret=secret,
            occasion=occasion,
            say=progress.say,
        ) as book:
            around = Surroundings(
                profile=plan.profile,
                images=images,
                executor=executor,
                store=store,
                add=store.add,
                progress=progress,
                secret=secret,
                book=book,
                accept=accept,
            )

            def when_ended(launch: Launch, following: Launch | None, made: list[Record]) -> None:
                records.extend(made)
                if following is None or room_of(following.first) != room_of(launch.first):
                    when_whole(launch.first, records)

            def measure(launches: Sequence[Launch]) -> None:
                for part in turns(launches):
                    queues = by_machine(part)
                    if apart is None or len(queues) == 1:
                        in_order(part, around, away, when_ended)
                        continue
                    SideBySide(
                        around=around,
                        progress=progress,
                        executor=apart(),
                        machines=plan.machines,
                        away=away,
                        when_ended=when_ended,
                    ).run(queues)

            measure(first.launches)
            for other in others:
                made = prepare(other, executor, store, away, progress.say)
                book.prepared([facts for facts, _ in made.values()])
                images.update(made)
                measure(other.launches)
            while launches := more(records):
                progress.begin(launches, records, machines=plan.machines)
                measure(launches)
    progress.end()
    return Summary(records=records, away=away)


def _sweep(executor: Executor, store: Store, say: Callable[[str], None]) -> None:
    """First remove the leftovers of killed runners, which may hold the space and the CPUs that this run needs."""
    executor.sweep(say)
    files = [*sweep_scratch(), *store.sweep()]
    if files:
        say(f"removed what an earlier runner left behind: {len(files)} unfinished files")
