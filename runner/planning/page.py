"""A plan as text: one page for any number of cells."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from runner.planning.estimates import Durations, duration
from runner.planning.footprint import Files, ImageNeed, size
from runner.planning.planned import Decision, Launch, Plan, PlannedCell, by_machine
from runner.system.terminal import wrap

_MOST_NAMES = 3


@dataclass(frozen=True, kw_only=True)
class CostedPlan:
    """A plan with its costs. ``minutes`` is the matrix's time for the whole profile."""

    plan: Plan
    durations: Durations
    images: Sequence[ImageNeed]
    files: Files
    minutes: float


def plan_page(costed: CostedPlan, *, width: int | None, every_cell: bool) -> str:
    """The page.

    Args:
        costed: the plan and its costs.
        width: the number of columns; None where lines are not broken.
        every_cell: one line for each cell, instead of one for all cells of an implementation on a platform.
    """
    cells = _every_cell(costed.plan, width) if every_cell else _grouped(costed, width)
    totals = [wrap(line, width) for line in _totals(costed)]
    return "\n".join([*cells, *totals])


def launches_in_words(count: int) -> str:
    """``1 launch``, ``2 launches``."""
    return f"{count} launch" if count == 1 else f"{count} launches"


def _every_cell(plan: Plan, width: int | None) -> Iterator[str]:
    for each in plan.cells:
        yield wrap(f"{each.decision.value:<9} {each.cell}: {each.why}", width, hang=10)


def _grouped(costed: CostedPlan, width: int | None) -> Iterator[str]:
    plan = costed.plan
    launches: dict[tuple[str, ...], list[Launch]] = {}
    for launch in plan.launches:
        launches.setdefault(_group_of(launch.cells[0]), []).append(launch)
    groups: dict[tuple[str, ...], list[PlannedCell]] = {}
    for each in plan.cells:
        groups.setdefault(_group_of(each), []).append(each)
    names = {group: " ".join(group[1:]) for group in groups}
    margin = max(map(len, names.values()), default=0) + 4
    platform = ""
    for group, members in groups.items():
        if group[0] != platform:
            platform = group[0]
            yield f"{platform}, {_execution(plan, platform)}"
        lines = _of_group(members, launches.get(group, []), costed.durations)
        for index, line in enumerate(lines):
            name = f"  {names[group]}" if index == 0 else ""
            # The margin is part of the line, so that a broken line goes on below the text and not below the name.
            yield wrap(f"{name:<{margin}}{line}", width, hang=margin if index == 0 else 2)
    yield ""


def _group_of(each: PlannedCell) -> tuple[str, ...]:
    """The group's platform, benchmark and implementation, with toolchain and limits that are not the first."""
    cell = each.cell
    return (cell.platform.name, cell.benchmark.name, cell.implementation.name, *cell.aside)


def _of_group(
    members: Sequence[PlannedCell], launches: Sequence[Launch], durations: Durations
) -> Iterator[str]:
    by_decision = {
        decision: found
        for decision in Decision
        if (found := [each for each in members if each.decision is decision])
    }
    if running := by_decision.get(Decision.RUN):
        reasons = _by_reason(running)
        head = f"{len(running)} run in {launches_in_words(len(launches))}, {durations.total(launches)}"
        if len(reasons) == 1:
            yield f"{head}: {running[0].why}{_which(running, members)}"
        else:
            yield head
            for why, those in reasons.items():
                yield f"  {len(those)}: {why}{_which(those, members)}"
    if reused := by_decision.get(Decision.REUSE):
        yield f"{len(reused)} reuse{_which(reused, members)}"
    for why, those in _by_reason(by_decision.get(Decision.LEAVE_OUT, ())).items():
        yield f"{len(those)} leave out: {why}{_which(those, members)}"


def _by_reason(members: Iterable[PlannedCell]) -> dict[str, list[PlannedCell]]:
    found: dict[str, list[PlannedCell]] = {}
    for each in members:
        found.setdefault(each.why, []).append(each)
    return found


def _which(those: Sequence[PlannedCell], members: Sequence[PlannedCell]) -> str:
    """Which of the group's cells these are, by case, seed or both; empty where they are all."""
    told = []
    for word, names in (
        ("", lambda each: each.cell.case.name),
        ("seed ", lambda each: str(each.cell.seed)),
    ):
        mine, whole = (list(dict.fromkeys(map(names, some))) for some in (those, members))
        others = [name for name in whole if name not in mine]
        if others and len(others) < len(mine):
            told.append(f"without {word}{_listed(others)}")
        elif others:
            told.append(f"{word}{_listed(mine)}")
    return f" ({'; '.join(told)})" if told else ""


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names[:_MOST_NAMES]) + (" .." if len(names) > _MOST_NAMES else "")


def _execution(plan: Plan, platform: str) -> str:
    execution = plan.executions[platform]
    return execution.kind.value + (f" by {execution.emulator}" if execution.emulator else "")


def _totals(costed: CostedPlan) -> Iterator[str]:
    plan, durations = costed.plan, costed.durations
    by_platform: dict[str, list[Launch]] = {}
    for launch in plan.launches:
        by_platform.setdefault(launch.first.platform.name, []).append(launch)
    if len(by_platform) > 1:
        for platform, launches in by_platform.items():
            yield f"{platform}: {launches_in_words(len(launches))}, {durations.total(launches)}"
    if plan.launches:
        total = durations.longest(by_machine(plan.launches).values())
        line = f"time: {launches_in_words(total.launches)}, {total}"
        if total.unknown == total.launches:
            line += f"; the matrix says {duration(60 * costed.minutes)} for all of {plan.profile}"
        yield line
    yield from _images(costed.images)
    if plan.launches:
        yield f"files: {_files(costed.files)}"
    counts = (
        f"{sum(each.decision is decision for each in plan.cells)} {decision.value}" for decision in Decision
    )
    yield f"{', '.join(counts)}; {launches_in_words(len(plan.launches))}"


def _images(images: Sequence[ImageNeed]) -> Iterator[str]:
    to_build = [each for each in images if not each.there]
    if images:
        tail = "; to build, in unknown time:" if to_build else ""
        yield f"images: {len(images) - len(to_build)} of {len(images)} there{tail}"
    for each in to_build:
        known = "unknown size" if each.size_bytes is None else f"at most {size(each.size_bytes)}"
        yield f"  {each.tag}: {known}"


def _files(files: Files) -> str:
    if not files.unknown:
        return f"about {size(files.known_bytes)}"
    if not files.known_bytes:
        return "unknown size"
    return f"about {size(files.known_bytes)} and {files.unknown} of unknown size"
