"""The run: prepares images, and carries out the planned launches of each machine one after another."""

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from runner.executors.base import Executor
from runner.matrix import Platform
from runner.matrix.images import ImageTarget
from runner.planning.cells import Cell
from runner.planning.planned import ImageKey, Launch, Plan, by_machine, room_of
from runner.records.image import ImageFacts
from runner.records.record import Record
from runner.records.store import Store
from runner.referee.nonce import new_secret
from runner.running import pins
from runner.running.alone import alone
from runner.running.bookkeeping import book_of
from runner.running.in_order import in_order
from runner.running.launch import Accept, Surroundings
from runner.running.occasion import UNKNOWN, Occasion
from runner.running.progress import Progress
from runner.running.side_by_side import SideBySide, turns
from runner.system.caller_limits import require_addresses
from runner.system.errors import HostAway, ImageBuildFailed
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
    images, secret = prepare(plan, executor, store, away, progress.say), new_secret()
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

            launches: Sequence[Launch] = plan.launches
            while launches:
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
                launches = more(records)
                if launches:
                    progress.begin(launches, records, machines=plan.machines)
    progress.end()
    return Summary(records=records, away=away)


def _sweep(executor: Executor, store: Store, say: Callable[[str], None]) -> None:
    """First remove the leftovers of killed runners, which may hold the space and the CPUs that this run needs."""
    executor.sweep(say)
    files = [*sweep_scratch(), *store.sweep()]
    if files:
        say(f"removed what an earlier runner left behind: {len(files)} unfinished files")


def prepare(
    plan: Plan, executor: Executor, store: Store, away: dict[str, str], say: Callable[[str], None]
) -> dict[ImageKey, tuple[ImageFacts, Mapping[str, str | None]]]:
    """Every image that the plan's cells need, with its verified versions. ``away`` gains the machines that went away."""
    if plan.launches:
        store.require_writable()
        # The gate computes: what has no room for that is not measured first.
        require_addresses()
    prepared: dict[ImageKey, ImageFacts] = {}
    needed = _needed(plan)
    for key, (target, cell) in needed.items():
        if cell.platform.name in away:
            continue
        with _noting(cell.platform, away, say):
            image = executor.prepare(target, cell.toolchain, cell.platform, say)
            prepared[key] = _as_planned(plan, key, image)
    if not plan.launches:
        return {}
    verified: dict[ImageKey, tuple[ImageFacts, Mapping[str, str | None]]] = {}
    for key, image in prepared.items():
        target, cell = needed[key]
        if cell.platform.name in away:
            continue
        what = f"versions of {target.name}"
        with _noting(cell.platform, away, say):
            with alone(
                executor, cell.limits, cell.platform, what=what, seconds=pins.DEADLINE_SECONDS, say=say
            ):
                software = pins.verified_software(target, cell, image=image, executor=executor, store=store)
            verified[key] = (image, software)
    return verified


@contextlib.contextmanager
def _noting(platform: Platform, away: dict[str, str], say: Callable[[str], None]) -> Iterator[None]:
    """Note that the machine of a platform is away, where it is, and go on."""
    try:
        yield
    except HostAway as error:
        away[platform.name] = error.why
        say(f"{error.what}: {error.why}")


def _needed(plan: Plan) -> dict[ImageKey, tuple[ImageTarget, Cell]]:
    return {
        (target.name, cell.toolchain.name, cell.platform.name): (target, cell)
        for target, cell in plan.images()
    }


def _as_planned(plan: Plan, key: ImageKey, image: ImageFacts) -> ImageFacts:
    """The image, if it is made of the files that the plan saw: the keys of its cells hold their hash.

    Raises:
        ImageBuildFailed: a file changed since.
    """
    if image.execution_hash == plan.execution_hashes.get(key, image.execution_hash):
        return image
    raise ImageBuildFailed(
        what=f"the image {image.target} for {image.architecture} is not the one that was planned",
        why="a file that it is made of changed after this run had begun",
        fix="leave the checkout alone while images are built, then run again",
    )
