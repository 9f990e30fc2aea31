"""The few shapes that a plot is made of, as SVG. Colours follow the reader's own setting, light or dark."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum
from xml.sax.saxutils import escape

Point = tuple[float, float]

_FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, Helvetica, Arial, sans-serif"
# Each pair has a contrast of at least 4.5 to the page that it is meant for, and the accent of at least 3.
_STYLE = f"""
text {{ font-family: {_FONT}; font-size: 13px; fill: #1f2328; }}
.title {{ font-size: 15px; font-weight: 600; }}
.group {{ font-weight: 600; }}
.tick {{ font-size: 11px; fill: #59636e; text-anchor: middle; }}
.grid {{ stroke: #d1d9e0; stroke-width: 1; }}
.one {{ stroke: #59636e; stroke-width: 1.5; }}
.strong {{ stroke: #b7410e; fill: #b7410e; stroke-width: 2.5; }}
.weak {{ stroke: #59636e; fill: #59636e; stroke-width: 2.5; }}
polyline {{ fill: none !important; }}
polygon {{ stroke: none !important; fill-opacity: 0.18; }}
.aim {{ stroke: #59636e; stroke-width: 1; stroke-dasharray: 5 4; }}
.starting {{ fill: #59636e; }}
.compiling {{ fill: #0550ae; }}
.training {{ fill: #b7410e; }}
.updating {{ fill: #8250df; }}
.other {{ fill: #1b7c83; }}
@media (prefers-color-scheme: dark) {{
text {{ fill: #f0f6fc; }}
.tick {{ fill: #9198a1; }}
.grid {{ stroke: #3d444d; }}
.one {{ stroke: #9198a1; }}
.strong {{ stroke: #f0883e; fill: #f0883e; }}
.weak {{ stroke: #9198a1; fill: #9198a1; }}
.aim {{ stroke: #9198a1; }}
.starting {{ fill: #9198a1; }}
.compiling {{ fill: #58a6ff; }}
.training {{ fill: #f0883e; }}
.updating {{ fill: #a371f7; }}
.other {{ fill: #39c5cf; }}
}}
"""


class Style(Enum):
    """What a shape is; the style sheet says how it looks."""

    TITLE = "title"
    GROUP = "group"
    LABEL = "label"
    TICK = "tick"
    GRID = "grid"
    ONE = "one"
    STRONG = "strong"
    WEAK = "weak"
    AIM = "aim"
    STARTING = "starting"
    COMPILING = "compiling"
    TRAINING = "training"
    UPDATING = "updating"
    OTHER = "other"


@dataclass
class Drawing:
    """Shapes in the order in which they are drawn."""

    width: float
    height: float
    title: str
    description: str
    _shapes: list[str] = field(default_factory=list)

    def text(self, x: float, y: float, words: str, style: Style) -> None:
        """Words that begin at a place, or stand above it where the style centres them."""
        self._shapes.append(
            f'<text class="{style.value}" x="{_number(x)}" y="{_number(y)}">{escape(words)}</text>'
        )

    def line(self, start: Point, end: Point, style: Style) -> None:
        """A straight line."""
        (x1, y1), (x2, y2) = start, end
        places = f'x1="{_number(x1)}" y1="{_number(y1)}" x2="{_number(x2)}" y2="{_number(y2)}"'
        self._shapes.append(f'<line class="{style.value}" {places}/>')

    def dot(self, centre: Point, radius: float, style: Style) -> None:
        """A filled circle."""
        x, y = centre
        self._shapes.append(
            f'<circle class="{style.value}" cx="{_number(x)}" cy="{_number(y)}" r="{_number(radius)}"/>'
        )

    def bar(self, corner: Point, width: float, height: float, style: Style) -> None:
        """A filled rectangle, by its upper left corner."""
        x, y = corner
        size = f'width="{_number(width)}" height="{_number(height)}"'
        self._shapes.append(f'<rect class="{style.value}" x="{_number(x)}" y="{_number(y)}" {size}/>')

    def curve(self, points: Sequence[Point], style: Style) -> None:
        """A line through points."""
        self._shapes.append(f'<polyline class="{style.value}" points="{_points(points)}"/>')

    def band(self, lower: Sequence[Point], upper: Sequence[Point], style: Style) -> None:
        """The area between two lines."""
        around = (*lower, *reversed(upper))
        self._shapes.append(f'<polygon class="{style.value}" points="{_points(around)}"/>')

    def svg(self) -> str:
        """The file's text."""
        size = f'width="{_number(self.width)}" height="{_number(self.height)}"'
        box = f'viewBox="0 0 {_number(self.width)} {_number(self.height)}"'
        shapes = "\n".join(self._shapes)
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" {size} {box} role="img" aria-labelledby="title about">\n'
            f'<title id="title">{escape(self.title)}</title>\n<desc id="about">{escape(self.description)}</desc>\n'
            f"<style>{_STYLE}</style>\n{shapes}\n</svg>\n"
        )


def _points(points: Sequence[Point]) -> str:
    return " ".join(f"{_number(x)},{_number(y)}" for x, y in points)


def _number(value: float) -> str:
    """A place to a tenth of a pixel: the last bits of a logarithm are not the same everywhere."""
    return f"{value:.1f}".removesuffix(".0")
