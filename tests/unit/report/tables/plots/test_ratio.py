"""Plots of ratios: the same figures give the same bytes, and what a dot shows can be read as text."""

import re
from xml.etree import ElementTree

from hypothesis import given
from hypothesis import strategies as st

from runner.figures.statistics import Interval
from runner.report.tables.plots.ratio import Ratio, ratio_plot

SVG = "{http://www.w3.org/2000/svg}"
RATIOS = [
    Ratio(
        group="DQN", label="reference", interval=Interval(value=18.1, low=17.4, high=18.6, n=5), strong=False
    ),
    Ratio(group="DQN", label="best <variant>", interval=Interval(value=7.56, low=7.29, high=7.9, n=5)),
    Ratio(group="GAE", label="a peer & more", interval=Interval(value=0.84, low=None, high=None, n=1)),
]


def parsed(svg: str) -> ElementTree.Element:
    return ElementTree.fromstring(svg)  # noqa: S314 (our own)


def test_the_same_figures_give_the_same_bytes() -> None:
    assert ratio_plot("T", "axis", RATIOS) == ratio_plot("T", "axis", list(RATIOS))


def test_every_figure_stands_in_the_description_too() -> None:
    root = parsed(ratio_plot("Faster?", "axis", RATIOS))
    assert root.find(f"{SVG}title").text == "Faster?"
    said = root.find(f"{SVG}desc").text
    assert said == (
        "DQN, reference: 18.1x (17.4 to 18.6); DQN, best <variant>: 7.56x (7.29 to 7.90); "
        "GAE, a peer & more: 0.840x"
    )


def test_dots_lie_in_the_order_of_their_ratios_and_beside_the_line_at_one() -> None:
    root = parsed(ratio_plot("T", "axis", RATIOS))
    dots = [float(each.get("cx")) for each in root.iter(f"{SVG}circle")]
    one = next(float(each.get("x1")) for each in root.iter(f"{SVG}line") if each.get("class") == "one")
    assert dots[2] < one < dots[1] < dots[0]
    # An interval is drawn where there is one.
    assert sum(each.get("class") in ("strong", "weak") for each in root.iter(f"{SVG}line")) == 2


@given(st.lists(st.floats(1e-3, 1e4), min_size=1, max_size=6))
def test_nothing_lies_outside_of_the_drawing(values: list[float]) -> None:
    ratios = [
        Ratio(group="g", label=str(index), interval=Interval(value=value, low=value / 2, high=value * 2, n=5))
        for index, value in enumerate(values)
    ]
    root = parsed(ratio_plot("T", "axis", ratios))
    width, height = float(root.get("width")), float(root.get("height"))
    for shape in root.iter():
        for name in ("x", "x1", "x2", "cx"):
            assert 0 <= float(shape.get(name, "0")) <= width
        for name in ("y", "y1", "y2", "cy"):
            assert 0 <= float(shape.get(name, "0")) <= height


def test_no_number_has_more_than_a_tenth_of_a_pixel() -> None:
    assert not re.findall(r'="\d+\.\d\d', ratio_plot("T", "axis", RATIOS))
