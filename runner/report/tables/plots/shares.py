"""The shares of a training's phases: a bar for each phase, in the colour of its layer, the longest first."""

from collections.abc import Sequence

from runner.report.tables.plots.svg import Drawing, Style
from runner.report.tables.profiling.measured import LAYERS, Profiled, profiled
from runner.report.tables.selection import Room

_WIDTH, _LABELS, _SHARES, _LEFT = 790, 160, 70, 14
_TOP, _GROUP, _ROW, _BAR, _AXIS = 70, 34, 22, 13, 46
_DOT = 4.5
_COLOURS = {"Rust": Style.TRAINING, "Python": Style.STARTING, "PyTorch": Style.COMPILING}
_STEP = 10


def shares_plot(rooms: Sequence[Room]) -> str | None:
    """The plot of the first room with instrumented runs; None where there is none."""
    for room in rooms:
        found = profiled(room)
        if found:
            return _drawn(room, found)
    return None


def _drawn(room: Room, found: Sequence[Profiled]) -> str:
    title = f"{room.benchmark.title}, on {room.platform.name}: shares of the training's time"
    height = _TOP + sum(_GROUP + _ROW * len(each.phases) for each in found) + _AXIS
    drawing = Drawing(width=_WIDTH, height=height, title=title, description=_words(found))
    drawing.text(_LEFT, 24, title, Style.TITLE)
    _legend(drawing)
    most = max(_within(phase.share.value) for each in found for phase in each.phases)
    # The axis ends at the tenth above the longest bar.
    end = min(100, _STEP * (int(100 * most) // _STEP + 1))
    scale, bottom = (_WIDTH - _LABELS - _SHARES) / end, height - _AXIS
    for value in range(0, end + 1, _STEP):
        x = _LABELS + value * scale
        drawing.line((x, _TOP), (x, bottom), Style.ONE if value == 0 else Style.GRID)
        drawing.text(x, bottom + 16, f"{value}", Style.TICK)
    drawing.text(_LABELS + end * scale / 2, height - 10, "percent of the training's time", Style.TICK)
    top = float(_TOP)
    for each in found:
        drawing.text(_LEFT, top + _GROUP - 12, each.name, Style.GROUP)
        top += _GROUP
        for phase in each.phases:
            drawing.text(_LEFT + 12, top + 11, phase.name, Style.LABEL)
            width = 100 * _within(phase.share.value) * scale
            drawing.bar((_LABELS, top), width, _BAR, _COLOURS[phase.layer])
            drawing.text(_LABELS + width + 8, top + 11, f"{100 * phase.share.value:.1f} %", Style.LABEL)
            top += _ROW
    return drawing.svg()


def _within(share: float) -> float:
    """A record of unknown origin may hold a share above 1, which no axis shows."""
    return min(max(share, 0.0), 1.0)


def _legend(drawing: Drawing) -> None:
    x = _LEFT + 6.0
    for layer in LAYERS.values():
        drawing.dot((x, 46), _DOT, _COLOURS[layer])
        drawing.text(x + 12, 50, layer, Style.LABEL)
        x += 50 + 7 * len(layer)


def _words(found: Sequence[Profiled]) -> str:
    """All figures as one text, for readers who cannot see the bars."""
    return "; ".join(
        f"{each.name}: "
        + ", ".join(f"{phase.name} ({phase.layer}) {100 * phase.share.value:.1f} %" for phase in each.phases)
        for each in found
    )
