"""Learning curves of a training: returns against steps and against seconds, ours beside the reference."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from runner.matrix import Side
from runner.records.record import Record
from runner.report.tables.plots.axis import LogAxis
from runner.report.tables.plots.svg import Drawing, Point, Style
from runner.report.tables.selection import Room, Row

_WIDTH, _HEIGHT, _PANEL = 790, 620, 210
_LEFT, _RIGHT, _TOP, _BETWEEN = 64, 24, 78, 72
_DOT = 4.5
# So many labels of an axis do not touch.
_MOST_TICKS = 9
# A curve has one point for each part of the training: the mean return of the episodes that ended in it.
_PARTS = 50
_LEAST_POINTS = 3
_LARGEST, _SHORTEST = 1e12, 1e-9


@dataclass(frozen=True, kw_only=True)
class Curve:
    """One implementation at the end of each part: the mean over seeds, the lowest and the highest seed.

    ``shares`` are parts of the training in (0, 1].
    """

    label: str
    style: Style
    shares: tuple[float, ...]
    mean: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]
    steps: int
    seconds: float


def curves_plot(rooms: Sequence[Room]) -> str | None:
    """The plot of the first case that has curves of both sides; None where there is none."""
    for room in rooms:
        for case in dict.fromkeys(row.case.name for row in room.rows) if room.ranked else ():
            ours = room.fastest(case, (Side.OURS,))
            curves = [_curve(room, row) for row in (room.reference(case), ours) if row is not None]
            shown = [each for each in curves if each is not None]
            if ours is not None and len(shown) == len(curves):
                return _drawn(room, case, shown)
    return None


def _curve(room: Room, row: Row) -> Curve | None:
    records = [record for record in row.passed if record.episodes]
    figure, steps = row.figure(room.benchmark.headline), _steps(records)
    if not records or figure is None or figure.value <= 0 or steps <= 0:
        return None
    seeds = [list(_means(record, steps)) for record in records]
    known = [index for index in range(_PARTS) if all(seed[index] is not None for seed in seeds)]
    if len(known) < _LEAST_POINTS:
        return None
    columns = [[float(seed[index] or 0.0) for seed in seeds] for index in known]
    # A record of unknown origin may hold what no axis shows.
    if max(abs(value) for column in columns for value in column) > _LARGEST or figure.value < _SHORTEST:
        return None
    return Curve(
        label=f"{row.implementation.name}, {len(records)} seeds",
        style=Style.STRONG if row.side is Side.OURS else Style.WEAK,
        shares=tuple((index + 1) / _PARTS for index in known),
        mean=tuple(sum(each) / len(each) for each in columns),
        low=tuple(map(min, columns)),
        high=tuple(map(max, columns)),
        steps=steps,
        seconds=figure.value,
    )


def _steps(records: Sequence[Record]) -> int:
    """All environment steps of a training."""
    return max((record.expected_counts.get("environment_steps", 0) for record in records), default=0)


def _means(record: Record, steps: int) -> Iterator[float | None]:
    """For each part the mean return of the episodes that ended in it; the part before's where none did."""
    parts: list[list[float]] = [[] for _ in range(_PARTS)]
    for episode in record.episodes or ():
        parts[min(episode.step * _PARTS // steps, _PARTS - 1)].append(float(episode.total))
    last: float | None = None
    for part in parts:
        last = sum(part) / len(part) if part else last
        yield last


@dataclass(frozen=True, kw_only=True)
class _Panel:
    """One pair of axes. A logarithmic axis begins at the first of its ticks."""

    top: float
    low: float
    high: float
    first: float
    last: float
    logarithmic: bool

    def at(self, x: float, y: float) -> Point:
        return self.x(x), self.y(y)

    @property
    def across(self) -> LogAxis:
        return LogAxis(low=self.first, high=self.last, start=_LEFT, end=_WIDTH - _RIGHT)

    def x(self, value: float) -> float:
        if self.logarithmic:
            return self.across.at(max(value, self.first))
        return _LEFT + (value - self.first) / (self.last - self.first) * (_WIDTH - _LEFT - _RIGHT)

    def y(self, value: float) -> float:
        return self.top + _PANEL * (1 - (value - self.low) / (self.high - self.low))


def _drawn(room: Room, case: str, curves: Sequence[Curve]) -> str:
    title = f"{room.benchmark.title}, {case}, on {room.platform.name}: how returns grow"
    drawing = Drawing(width=_WIDTH, height=_HEIGHT, title=title, description=_words(curves))
    drawing.text(14, 24, title, Style.TITLE)
    x = 20.0
    for curve in curves:
        drawing.dot((x, 46), _DOT, curve.style)
        drawing.text(x + 12, 50, curve.label, Style.LABEL)
        x += 40 + 8 * len(curve.label)
    returns = room.benchmark.returns
    aims = {
        "threshold": returns.thresholds.get(case) if returns else None,
        "published": returns.published.get(case) if returns else None,
    }
    low, high = _range(curves, [each for each in aims.values() if each is not None])
    steps, seconds = max(curve.steps for curve in curves), [curve.seconds for curve in curves]
    shortest = min(curve.seconds * curve.shares[0] for curve in curves)
    by_steps = _Panel(top=_TOP, low=low, high=high, first=0, last=steps, logarithmic=False)
    below = _TOP + _PANEL + _BETWEEN
    by_seconds = _Panel(
        top=below, low=low, high=high, first=shortest, last=max(seconds) * 1.02, logarithmic=True
    )
    for panel, axis in (
        (by_steps, "environment steps"),
        (by_seconds, "training seconds, logarithmic"),
    ):
        _axes(drawing, panel, axis, aims)
        for curve in curves:
            whole = curve.steps if panel is by_steps else curve.seconds
            places = [share * whole for share in curve.shares]
            lower, upper = (
                [panel.at(place, value) for place, value in zip(places, values, strict=True)]
                for values in (curve.low, curve.high)
            )
            drawing.band(lower, upper, curve.style)
            drawing.curve([panel.at(*each) for each in zip(places, curve.mean, strict=True)], curve.style)
    return drawing.svg()


def _axes(drawing: Drawing, panel: _Panel, axis: str, aims: dict[str, float | None]) -> None:
    bottom = panel.top + _PANEL
    for value in _ticks(panel.low, panel.high):
        drawing.line((_LEFT, panel.y(value)), (_WIDTH - _RIGHT, panel.y(value)), Style.GRID)
        drawing.text(_LEFT - 28, panel.y(value) + 4, f"{value:g}", Style.TICK)
    places = panel.across.ticks() if panel.logarithmic else _ticks(panel.first, panel.last)
    for value in places:
        drawing.line((panel.x(value), bottom), (panel.x(value), bottom + 4), Style.ONE)
        drawing.text(panel.x(value), bottom + 18, f"{value:,.6g}", Style.TICK)
    drawing.text((_LEFT + _WIDTH - _RIGHT) / 2, bottom + 36, axis, Style.TICK)
    for name, aim in aims.items():
        if aim is not None:
            drawing.line((_LEFT, panel.y(aim)), (_WIDTH - _RIGHT, panel.y(aim)), Style.AIM)
            drawing.text(_LEFT + 36, panel.y(aim) + (12 if name == "threshold" else -4), name, Style.TICK)


def _range(curves: Sequence[Curve], aims: Sequence[float]) -> tuple[float, float]:
    low = min(*aims, *(value for curve in curves for value in curve.low))
    high = max(*aims, *(value for curve in curves for value in curve.high))
    room = (high - low or 1.0) * 0.06
    return low - room, high + room


def _ticks(low: float, high: float) -> list[float]:
    """Four to nine round numbers between two ends."""
    step = 10 ** math.floor(math.log10((high - low) / 2))
    step *= next(each for each in (1, 2, 5) if (high - low) / (step * each) <= _MOST_TICKS)
    return [index * step for index in range(math.ceil(low / step), math.floor(high / step) + 1)]


def _words(curves: Sequence[Curve]) -> str:
    """The ends of all curves as one text, for readers who cannot see the lines."""
    return "; ".join(
        f"{each.label}: return {each.mean[-1]:.4g} at the end, after {each.steps:,} steps and {each.seconds:.4g} s"
        for each in curves
    )
