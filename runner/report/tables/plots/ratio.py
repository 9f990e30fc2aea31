"""A plot of ratios: a row for each, a dot with its interval on a logarithmic axis, and a line at 1."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from runner.figures.statistics import Interval
from runner.report.tables import units
from runner.report.tables.plots.axis import LogAxis
from runner.report.tables.plots.svg import Drawing, Style

_WIDTH = 790
_LABELS, _VALUES, _LEFT = 230, 220, 14
_TOP, _ROW, _GAP, _AXIS = 44, 22, 14, 46
_DOT = 4.5
# The room beside the outermost figure.
_MARGIN = 1.15


@dataclass(frozen=True, kw_only=True)
class Ratio:
    """One row.

    Attributes:
        group: the heading that it stands under; rows of one group follow one another.
        label: what is compared.
        interval: how many times faster, above 1 is faster.
        strong: whether it is drawn with the accent.
    """

    group: str
    label: str
    interval: Interval
    strong: bool = True


def ratio_plot(title: str, axis: str, ratios: Sequence[Ratio]) -> str:
    """The plot as the text of an SVG file.

    Args:
        title: what a screen reader says first, and what stands above the plot.
        axis: what the axis measures.
        ratios: at least one.
    """
    groups = [(name, list(rows)) for name, rows in groupby(ratios, key=lambda each: each.group)]
    height = _TOP + sum(_GAP + _ROW * (1 + len(rows)) for _, rows in groups) + _AXIS
    scale = _axis(ratios)
    drawing = Drawing(width=_WIDTH, height=height, title=title, description=_words(ratios))
    drawing.text(_LEFT, 24, title, Style.TITLE)
    bottom = height - _AXIS
    for tick in scale.ticks():
        x = scale.at(tick)
        drawing.line((x, _TOP), (x, bottom), Style.ONE if tick == 1 else Style.GRID)
        drawing.text(x, bottom + 16, f"{tick:g}x", Style.TICK)
    drawing.text((scale.start + scale.end) / 2, height - 10, axis, Style.TICK)
    y = float(_TOP)
    for name, rows in groups:
        y += _GAP + _ROW
        drawing.text(_LEFT, y - 6, name, Style.GROUP)
        for row in rows:
            y += _ROW
            _draw(drawing, scale, row, y - _ROW / 2)
    return drawing.svg()


def _draw(drawing: Drawing, scale: LogAxis, row: Ratio, y: float) -> None:
    found = row.interval
    style = Style.STRONG if row.strong else Style.WEAK
    drawing.text(_LEFT + 12, y + 4, row.label, Style.LABEL)
    if found.low is not None and found.high is not None:
        drawing.line((scale.at(found.low), y), (scale.at(found.high), y), style)
    drawing.dot((scale.at(found.value), y), _DOT, style)
    drawing.text(_WIDTH - _VALUES + 12, y + 4, units.times(found), Style.LABEL)


def _words(ratios: Sequence[Ratio]) -> str:
    """All figures as one text, for readers who cannot see the dots."""
    return "; ".join(f"{each.group}, {each.label}: {units.times(each.interval)}" for each in ratios)


def _axis(ratios: Sequence[Ratio]) -> LogAxis:
    ends = [1.0]
    for each in ratios:
        found = each.interval
        ends += [value for value in (found.value, found.low, found.high) if value is not None]
    return LogAxis(low=min(ends) / _MARGIN, high=max(ends) * _MARGIN, start=_LABELS, end=_WIDTH - _VALUES)
