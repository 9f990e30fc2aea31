"""The run: prepares images, and carries out the planned launches one after another."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest

from runner.executors.base import Executor
from runner.matrix.images import ImageTarget
from runner.planning.cells import Cell
from runner.planning.planned import ImageKey, Plan, room_of
from runner.records.image import ImageFacts
from runner.records.record import Record
from runner.records.store import Store
from runner.referee.nonce import new_secret
from runner.running import pins
from runner.running.alone import alone
from runner.running.bookkeeping import book_of
from runner.running.launch import Surroundings, run_launch
from runner.running.occasion import UNKNOWN, Occasion
from runner.running.progress import Progress
from runner.system.caller_limits import require_addresses
from runner.system.errors import ImageBuildFailed
from runner.system.scratch import sweep_scratch


@dataclass(frozen=True, kw_only=True)
class Summary:
    """The result of a run: the records that it stored, in the order of the launches."""

    records: Sequence[Record]

    @property
    def failed(self) -> tuple[Record, ...]:
        """The records of the cells that failed."""
        return tuple(record for record in self.records if record.failed)


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
) -> Summary:
    """Run the plan. Every finished cell is in the store and its ledger before the next launch starts.

    Raises:
        ImageBuildFailed, PinMismatch, DockerUnavailable, StoreError: nothing more can be run. A damaged ledger is a
            StoreError.
    """
    _sweep(executor, store, progress.say)
    images, secret = _prepare(plan, executor, store, progress.say), new_secret()
    progress.begin(plan.launches, plan.records, here=executor.machine())
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
                progress=progress,
                secret=secret,
                book=book,
            )
            for launch, following in zip_longest(plan.launches, plan.launches[1:]):
                records += run_launch(launch, around)
                if following is None or room_of(following.first) != room_of(launch.first):
                    when_whole(launch.first, records)
    progress.end()
    return Summary(records=records)


def _sweep(executor: Executor, store: Store, say: Callable[[str], None]) -> None:
    """First remove the leftovers of killed runners, which may hold the space and the CPUs that this run needs."""
    executor.sweep(say)
    files = [*sweep_scratch(), *store.sweep()]
    if files:
        say(f"removed what an earlier runner left behind: {len(files)} unfinished files")


def _prepare(
    plan: Plan, executor: Executor, store: Store, say: Callable[[str], None]
) -> dict[ImageKey, tuple[ImageFacts, Mapping[str, str | None]]]:
    """Every image that the plan's cells need, with its verified versions."""
    if plan.launches:
        store.require_writable()
        # The gate computes: what has no room for that is not measured first.
        require_addresses()
    prepared = {
        key: (
            target,
            cell,
            _as_planned(plan, key, executor.prepare(target, cell.toolchain, cell.platform, say)),
        )
        for key, (target, cell) in _needed(plan).items()
    }
    if not plan.launches:
        return {}
    verified: dict[ImageKey, tuple[ImageFacts, Mapping[str, str | None]]] = {}
    for key, (target, cell, image) in prepared.items():
        what = f"versions of {target.name}"
        with alone(executor, cell.limits, what=what, seconds=pins.DEADLINE_SECONDS, say=say):
            software = pins.verified_software(target, cell, image=image, executor=executor, store=store)
        verified[key] = (image, software)
    return verified


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
