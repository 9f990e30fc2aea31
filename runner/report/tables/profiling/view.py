"""The view of the profiling report: a section for each training and platform with instrumented runs."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from runner.figures.statistics import LEAST_PROCESSES, Interval
from runner.matrix import Matrix
from runner.report.tables import texts, units
from runner.report.tables.markdown import Table
from runner.report.tables.profiling.measured import (
    LAYERS,
    MOST_MISSED,
    MOST_OTHER,
    OTHER,
    Profiled,
    divided,
    profiled,
)
from runner.report.tables.profiling.recommendations import recommendation_table, recommendations
from runner.report.tables.selection import Room, Row
from runner.report.tables.summary.declared import COMPONENTS
from runner.report.tables.summary.places import places
from runner.report.tables.summary.tables import times
from runner.report.tables.units import NOTHING

PROFILING = "profiling"
# What is less is shown as this much.
_SMALLEST = 1e-4


@dataclass(frozen=True, kw_only=True)
class Divided:
    """One instrumented implementation: its phases by share, and the sentences about them."""

    name: str
    sentence: str
    phases: Table
    sum: str
    crossings: Table


@dataclass(frozen=True, kw_only=True)
class Section:
    """One training on one platform."""

    title: str
    benchmark: str
    heading: str
    execution: str
    measured: str
    ranked: bool
    drawn: bool
    totals: Table
    cost: Table
    layers: Table
    divided: tuple[Divided, ...]


@dataclass(frozen=True, kw_only=True)
class Advice:
    """The recommendations on one platform."""

    heading: str
    table: Table


@dataclass(frozen=True, kw_only=True)
class Components:
    """The parts of a training, each measured alone in one place."""

    heading: str
    table: Table


@dataclass(frozen=True, kw_only=True)
class ProfilingView:
    """The whole page."""

    profile: str
    source: str
    most_missed: str
    most_other: str
    sections: tuple[Section, ...]
    components: tuple[Components, ...]
    advice: tuple[Advice, ...]


def profiling_view(
    matrix: Matrix, benchmark_rooms: Iterable[Sequence[Room]], *, profile: str
) -> ProfilingView | None:
    """The page over all rooms; None where no run was instrumented.

    Args:
        matrix: the matrix.
        benchmark_rooms: of every benchmark.
        profile: the profile that the page is about.
    """
    benchmark_rooms = tuple(benchmark_rooms)
    found = [(room, profiled(room)) for rooms in benchmark_rooms for room in rooms]
    instrumented = [(room, rows) for room, rows in found if rows]
    if not instrumented:
        return None
    return ProfilingView(
        profile=profile,
        source=recommendations()[0],
        most_missed=f"{100 * MOST_MISSED:g} %",
        most_other=f"{100 * MOST_OTHER:g} %",
        sections=tuple(
            _section(matrix, room, rows, drawn=index == _first(instrumented, room))
            for index, (room, rows) in enumerate(instrumented)
        ),
        components=tuple(_components(matrix, benchmark_rooms)),
        advice=tuple(_advice(matrix, found)),
    )


def _first(instrumented: Sequence[tuple[Room, tuple[Profiled, ...]]], room: Room) -> int:
    """The place of the first room of the same benchmark: the plot is of that one."""
    names = [each.benchmark.name for each, _ in instrumented]
    return names.index(room.benchmark.name)


def _section(matrix: Matrix, room: Room, rows: Sequence[Profiled], *, drawn: bool) -> Section:
    return Section(
        title=room.benchmark.title,
        benchmark=room.benchmark.name,
        heading=texts.heading(matrix, room),
        execution=texts.execution(room),
        measured=texts.measured(room),
        ranked=room.ranked,
        drawn=drawn,
        totals=_totals(room, rows),
        cost=_cost(room, rows),
        layers=_layers(rows),
        divided=tuple(_divided(room, each) for each in rows),
    )


def _totals(room: Room, rows: Sequence[Profiled]) -> Table:
    """The uninstrumented runs of the cases that are divided, from start to end."""
    instrumented = {each.row.implementation.name for each in rows}
    cases = dict.fromkeys(each.row.case.name for each in rows)
    shown = [
        row
        for case in cases
        for row in room.of_case(case)
        if row.passed and row.implementation.name not in instrumented
    ]
    return Table(
        headers=("implementation", "from start to result", "initialisation", "training", "steps/s", "n"),
        rows=tuple(
            (
                row.implementation.name,
                texts.waited(row),
                texts.figure(row, "initialisation_seconds"),
                texts.figure(row, room.benchmark.headline),
                _steps_per_second(room, row),
                texts.processes(row, room.benchmark.headline),
            )
            for row in shown
        ),
        right=frozenset({"steps/s"}),
    )


def _steps_per_second(room: Room, row: Row) -> str:
    figure, steps = row.figure(room.benchmark.headline), row.passed[0].counts.get("environment_steps")
    return units.count(steps / figure.value) if figure and steps and figure.value > 0 else NOTHING


def _cost(room: Room, rows: Sequence[Profiled]) -> Table:
    """What the clock costs: the instrumented total beside the uninstrumented one."""
    metric = room.benchmark.headline
    return Table(
        headers=("implementation", "uninstrumented", "instrumented", "the clock adds"),
        rows=tuple(
            (
                each.name,
                NOTHING if (plain := divided(room, each.row)) is None else texts.figure(plain, metric),
                texts.figure(each.row, metric),
                NOTHING if each.cost is None else _added(each.cost),
            )
            for each in rows
        ),
    )


def _added(cost: Interval) -> str:
    text = f"{100 * (cost.value - 1):.1f} %"
    if cost.low is not None and cost.high is not None:
        text += f" ({100 * (cost.low - 1):.1f} to {100 * (cost.high - 1):.1f})"
    return text if cost.ranked else f"{text}, n<{LEAST_PROCESSES}: not ranked"


def _layers(rows: Sequence[Profiled]) -> Table:
    return Table(
        headers=("layer", *(each.name for each in rows)),
        rows=tuple((layer, *(_share(each.layer(layer)) for each in rows)) for layer in LAYERS.values()),
        right=frozenset(each.name for each in rows),
    )


def _divided(room: Room, found: Profiled) -> Divided:
    return Divided(
        name=found.name,
        sentence=_sentence(found),
        phases=Table(
            headers=("rank", "phase", "layer", "seconds", "share", "stretches", "a stretch"),
            rows=tuple(
                (
                    str(rank),
                    each.name,
                    each.layer,
                    units.figure(each.seconds, "seconds"),
                    _share(each.share),
                    units.count(each.stretches),
                    units.seconds(each.seconds.value / each.stretches) if each.stretches else NOTHING,
                )
                for rank, each in enumerate(found.phases, start=1)
            ),
            right=frozenset({"rank", "stretches"}),
        ),
        sum=_sum(found),
        crossings=_crossings(room, found),
    )


def _sentence(found: Profiled) -> str:
    first, *others = found.phases
    text = (
        f'The bottleneck of {found.name} is the phase "{first.name}", in {first.layer}: '
        f"{_share(first.share)} of the training."
    )
    if others:
        second = others[0]
        text += f' The phase "{second.name}" follows, in {second.layer}, with {_share(second.share)}.'
    return text


def _sum(found: Profiled) -> str:
    return (
        f"The phases of a process add up to its training's time within {_percent(found.missed)}. "
        f'The phase "{OTHER}" has {_percent(found.other)}. '
        + (
            "Both are within the bounds below."
            if found.adds_up
            else "That is beyond the bounds below, so these shares are not to be trusted."
        )
    )


def _percent(share: float) -> str:
    return f"{100 * share:.2f} %" if share >= _SMALLEST else f"{100 * _SMALLEST:g} %"


def _share(share: Interval) -> str:
    text = f"{100 * share.value:.1f} %"
    if share.low is None or share.high is None:
        return text
    return f"{text} ({100 * share.low:.1f} to {100 * share.high:.1f})"


def _crossings(room: Room, found: Profiled) -> Table:
    parameters, counts = room.parameters[found.row.case.name], found.row.passed[0].counts
    rollout = _rollout(parameters)
    steps = (
        "an environment step" if rollout == 1 else f"a rollout of {units.count(rollout)} environment steps"
    )
    rollouts = counts.get("environment_steps", 0) / rollout
    updates = counts.get("gradient_steps", 0)
    every = (*found.crossings, ("all", sum(each for _, each in found.crossings)))
    return Table(
        headers=("function of our module", "calls", f"calls {steps}", "calls a gradient step"),
        rows=tuple(
            (name, units.count(count), *(_each(count, of) for of in (rollouts, updates)))
            for name, count in every
            if found.crossings
        ),
        right=frozenset({"calls"}),
    )


def _each(count: int, of: float) -> str:
    return f"{count / of:.4g}" if of else NOTHING


def _rollout(parameters: Mapping[str, object]) -> int:
    """The environment steps between two looks back; 1 where a training has no rollouts."""
    count = 1
    for name in ("environments", "rollout_steps"):
        size = parameters.get(name)
        count *= size if isinstance(size, int) and size > 0 else 1
    return count


def _components(matrix: Matrix, benchmark_rooms: Iterable[Sequence[Room]]) -> Iterable[Components]:
    """One table for each place that measured a component alone."""
    for place in places(matrix, benchmark_rooms):
        table = times(place.rooms, COMPONENTS)
        if table.rows:
            yield Components(heading=place.heading, table=table)


def _advice(matrix: Matrix, found: Sequence[tuple[Room, tuple[Profiled, ...]]]) -> Iterable[Advice]:
    """One table for each place with ranked times of a training that the recommendations are for.

    A variant needs no instrumented run beside it.
    """
    advised = {each.benchmark for each in recommendations()[1]}
    places: dict[str, list[tuple[Room, tuple[Profiled, ...]]]] = {}
    for room, rows in found:
        if room.ranked and room.benchmark.name in advised:
            places.setdefault(texts.heading(matrix, room), []).append((room, rows))
    for heading, here in places.items():
        rooms: Mapping[str, Room | None] = {room.benchmark.name: room for room, _ in here}
        yield Advice(
            heading=heading,
            table=recommendation_table(rooms, {room.benchmark.name: rows for room, rows in here}),
        )
