"""Where a training's time goes, from the start of the process to the result: one bar an implementation.

A record knows start, compiling and training. Where the benchmark of one update was measured on the same machine, a
training is divided into its updates, by that figure, and all else.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from runner.matrix import Kind
from runner.report.tables import units
from runner.report.tables.plots.svg import Drawing, Style
from runner.report.tables.same_machine import Updates
from runner.report.tables.selection import Room, Row

_WIDTH, _LABELS, _TOTALS, _LEFT = 790, 180, 110, 14
_TOP, _ROW, _BAR, _AXIS = 78, 26, 14, 46
_DOT = 4.5
_TICKS = 5
_INITIALISATION, _COMPILING = "initialisation_seconds", "compile_seconds"
# A record of unknown origin may hold what no axis shows.
_LONGEST, _SHORTEST = 1e12, 1e-9


@dataclass(frozen=True, kw_only=True)
class Phase:
    """A part of the time, in seconds."""

    name: str
    style: Style
    seconds: float


@dataclass(frozen=True, kw_only=True)
class _Bar:
    label: str
    phases: tuple[Phase, ...]
    total: float


def phases_plot(rooms: Sequence[Room], updates: Updates) -> str | None:
    """The plot of the first case of a ranked room whose records know their phases; None where there is none.

    Args:
        rooms: of one benchmark; only a training has phases.
        updates: what one update takes on this machine, where it was measured alone.
    """
    for room in rooms:
        drawn = room.ranked and room.benchmark.kind is Kind.TRAINING
        for case in dict.fromkeys(row.case.name for row in room.rows) if drawn else ():
            bars = [bar for row in room.of_case(case) if (bar := _bar(room, row, updates)) is not None]
            if bars:
                return _drawn(room, case, bars)
    return None


def _bar(room: Room, row: Row, updates: Updates) -> _Bar | None:
    waited, training = row.waited, row.figure(room.benchmark.headline)
    if waited is None or training is None or not _SHORTEST < waited.value < _LONGEST:
        return None
    compiling = row.figure(_COMPILING)
    before = row.figure(_INITIALISATION)
    compiled = compiling.value if compiling else 0.0
    started = max(0.0, before.value - compiled) if before else 0.0
    phases = [
        Phase(name="start and imports", style=Style.STARTING, seconds=started),
        Phase(name="compiling", style=Style.COMPILING, seconds=compiled),
        *_parts_of_training(room, row, training.value, updates),
    ]
    shown = tuple(each for each in phases if each.seconds > 0)
    return _Bar(label=row.implementation.name, phases=shown, total=waited.value) if shown else None


def _parts_of_training(room: Room, row: Row, seconds: float, updates: Updates) -> Iterator[Phase]:
    each = updates.get((row.case.name, row.implementation.name))
    count = row.passed[0].counts.get(room.benchmark.updates.count, 0) if room.benchmark.updates else 0
    updating = count * each if each else 0.0
    # Alone an update may take longer than within a training. Then that figure divides nothing.
    if not 0 < updating < seconds:
        yield Phase(name="training", style=Style.TRAINING, seconds=seconds)
        return
    yield Phase(name="updates", style=Style.UPDATING, seconds=updating)
    yield Phase(
        name="environment, replay, acting and all else", style=Style.OTHER, seconds=seconds - updating
    )


def _drawn(room: Room, case: str, bars: Sequence[_Bar]) -> str:
    title = f"{room.benchmark.title}, {case}, on {room.platform.name}: from start to result"
    height = _TOP + _ROW * len(bars) + _AXIS
    drawing = Drawing(width=_WIDTH, height=height, title=title, description=_words(bars))
    drawing.text(_LEFT, 24, title, Style.TITLE)
    _legend(drawing, bars)
    longest = max(max(bar.total, sum(each.seconds for each in bar.phases)) for bar in bars)
    scale, bottom = (_WIDTH - _LABELS - _TOTALS) / longest, height - _AXIS
    for value in _ticks(longest):
        x = _LABELS + value * scale
        drawing.line((x, _TOP), (x, bottom), Style.ONE if value == 0 else Style.GRID)
        drawing.text(x, bottom + 16, f"{value:g}", Style.TICK)
    drawing.text(_LABELS + longest * scale / 2, height - 10, "seconds", Style.TICK)
    for index, bar in enumerate(bars):
        top = _TOP + _ROW * index + (_ROW - _BAR) / 2
        drawing.text(_LEFT + 12, top + 11, bar.label, Style.LABEL)
        x = float(_LABELS)
        for phase in bar.phases:
            drawing.bar((x, top), phase.seconds * scale, _BAR, phase.style)
            x += phase.seconds * scale
        drawing.text(x + 8, top + 11, units.seconds(bar.total), Style.LABEL)
    return drawing.svg()


def _legend(drawing: Drawing, bars: Sequence[_Bar]) -> None:
    """Each phase that occurs, once, in the order of time."""
    found = {phase.style: phase.name for bar in bars for phase in bar.phases}
    x = _LEFT + 6.0
    for style in Style:
        if style in found:
            drawing.dot((x, 46), _DOT, style)
            drawing.text(x + 12, 50, found[style], Style.LABEL)
            x += 40 + 7 * len(found[style])


def _ticks(longest: float) -> list[float]:
    """Zero and at most five round numbers up to the longest time."""
    step = 10 ** math.floor(math.log10(longest / _TICKS))
    step *= next(each for each in (1, 2, 5, 10) if longest / (step * each) <= _TICKS)
    return [index * step for index in range(math.floor(longest / step) + 1)]


def _words(bars: Sequence[_Bar]) -> str:
    """All figures as one text, for readers who cannot see the bars."""
    return "; ".join(
        f"{bar.label}: {units.seconds(bar.total)} in all, of it "
        + ", ".join(f"{each.name} {units.seconds(each.seconds)}" for each in bar.phases)
        for bar in bars
    )
