"""How the time of a call grows with the size of the case: one line an implementation, both axes logarithmic."""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

from runner.matrix import Side
from runner.report.tables import units
from runner.report.tables.plots.axis import LogAxis
from runner.report.tables.plots.svg import Drawing, Style
from runner.report.tables.selection import Room

_WIDTH, _HEIGHT = 790, 420
_LEFT, _RIGHT, _TOP, _BOTTOM = 84, 190, 44, 52
_DOT, _LINE, _MARGIN = 3.5, 15, 1.2
# With fewer sizes a line shows no course.
_LEAST_SIZES = 3
# Beyond so many times the lowest, an axis of this height has room for powers of ten alone.
_MANY = 1000
# No clock counts attoseconds.
_SHORTEST = 1e-18
_SIZE = re.compile(r"(?P<name>[A-Za-z]+)=(?P<size>[1-9][0-9]{0,8})")


@dataclass(frozen=True, kw_only=True)
class Course:
    """One implementation's seconds a call by the size of the case, sizes rising."""

    label: str
    ours: bool
    points: tuple[tuple[int, float], ...]


def scaling_plot(rooms: Sequence[Room]) -> str | None:
    """The plot of the first ranked room whose cases are sizes of one thing, such as T=128; None where there is none."""
    for room in rooms:
        for name in _things(room) if room.ranked else ():
            courses = _courses(room, name)
            if courses:
                return _drawn(room, name, courses)
    return None


def _things(room: Room) -> list[str]:
    """What the sizes of the cases are of, in the order of the matrix."""
    found = (_SIZE.fullmatch(row.case.name) for row in room.rows)
    return list(dict.fromkeys(each["name"] for each in found if each))


def _courses(room: Room, name: str) -> list[Course]:
    points: dict[str, dict[int, float]] = {}
    for row in room.rows:
        size, figure = _SIZE.fullmatch(row.case.name), row.figure(room.benchmark.headline)
        if size is None or size["name"] != name or figure is None or not row.same_work:
            continue
        # A record of unknown origin may hold a time whose logarithm has no room for a margin.
        if _SHORTEST < figure.value < math.inf:
            points.setdefault(row.implementation.name, {})[int(size["size"])] = figure.value
    sides = {row.implementation.name: row.side for row in room.rows}
    return [
        Course(
            label=label, ours=sides[label] in (Side.OURS, Side.KERNEL), points=tuple(sorted(found.items()))
        )
        for label, found in points.items()
        if len(found) >= _LEAST_SIZES
    ]


def _drawn(room: Room, name: str, courses: Sequence[Course]) -> str:
    title = f"{room.benchmark.title} on {room.platform.name}: time a call by size"
    drawing = Drawing(width=_WIDTH, height=_HEIGHT, title=title, description=_words(name, courses))
    drawing.text(14, 24, title, Style.TITLE)
    sizes = sorted({size for course in courses for size, _ in course.points})
    times = [seconds for course in courses for _, seconds in course.points]
    right, bottom = _WIDTH - _RIGHT, _HEIGHT - _BOTTOM
    across = LogAxis(low=sizes[0] / _MARGIN, high=sizes[-1] * _MARGIN, start=_LEFT, end=right)
    up = LogAxis(low=min(times) / _MARGIN, high=max(times) * _MARGIN, start=bottom, end=_TOP)
    for tick in up.ticks((1,) if up.high / up.low > _MANY else (1, 2, 5)):
        drawing.line((_LEFT, up.at(tick)), (right, up.at(tick)), Style.GRID)
        drawing.text(_LEFT - 36, up.at(tick) + 4, units.seconds(tick), Style.TICK)
    for size in sizes:
        drawing.line((across.at(size), bottom), (across.at(size), bottom + 4), Style.ONE)
        drawing.text(across.at(size), bottom + 18, f"{size:,}", Style.TICK)
    drawing.text((_LEFT + right) / 2, _HEIGHT - 10, f"{name}, logarithmic", Style.TICK)
    for course in courses:
        style = Style.STRONG if course.ours else Style.WEAK
        places = [(across.at(size), up.at(seconds)) for size, seconds in course.points]
        drawing.curve(places, style)
        for place in places:
            drawing.dot(place, _DOT, style)
    for course, y in _labels(courses, up, lowest=bottom):
        drawing.text(across.at(course.points[-1][0]) + 10, y + 4, course.label, Style.LABEL)
    return drawing.svg()


def _labels(courses: Sequence[Course], up: LogAxis, *, lowest: float) -> list[tuple[Course, float]]:
    """Each course with the height of its label: beside its last point, or as near to it as the others leave room."""
    ordered = sorted(courses, key=lambda each: (-each.points[-1][1], each.label))
    heights: list[float] = []
    for course in ordered:
        height = up.at(course.points[-1][1])
        heights.append(max(height, heights[-1] + _LINE) if heights else height)
    for place in reversed(range(len(heights))):
        heights[place] = min(heights[place], lowest - _LINE * (len(heights) - 1 - place))
    return list(zip(ordered, heights, strict=True))


def _words(name: str, courses: Sequence[Course]) -> str:
    """All figures as one text, for readers who cannot see the lines."""
    return "; ".join(
        f"{course.label}: "
        + ", ".join(f"{name}={size} {units.seconds(seconds)}" for size, seconds in course.points)
        for course in courses
    )
