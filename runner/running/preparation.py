"""Images before their launches: made or found, held to the plan, and their versions verified."""

import contextlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

from runner.executors.base import Executor
from runner.matrix import Platform
from runner.matrix.images import ImageTarget
from runner.planning.cells import Cell
from runner.planning.planned import ImageKey, Plan
from runner.records.image import ImageFacts
from runner.records.store import Store
from runner.running import pins
from runner.running.alone import alone
from runner.system.caller_limits import require_addresses
from runner.system.errors import HostAway, ImageBuildFailed

# Images with their verified versions.
Prepared = dict[ImageKey, tuple[ImageFacts, Mapping[str, str | None]]]


def in_turn(plan: Plan, executor: Executor) -> tuple[Plan, ...]:
    """The parts of a plan whose images are prepared one after another, each before its launches.

    Emulated platforms whose images are yet to be built come last: a native table does not wait for these images.
    """
    waiting = {
        cell.platform.name
        for target, cell in plan.images()
        if plan.executions[cell.platform.name].emulated
        and executor.must_build(target, cell.toolchain, cell.platform)
    }
    parts = (
        replace(
            plan,
            cells=tuple(each for each in plan.cells if (each.cell.platform.name in waiting) is last),
            launches=tuple(each for each in plan.launches if (each.first.platform.name in waiting) is last),
        )
        for last in (False, True)
    )
    return tuple(part for part in parts if part.cells) or (plan,)


def prepare(
    plan: Plan, executor: Executor, store: Store, away: dict[str, str], say: Callable[[str], None]
) -> Prepared:
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
    verified: Prepared = {}
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
