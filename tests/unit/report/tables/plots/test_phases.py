"""Where a training's time goes: a bar an implementation, as long as what a user waits."""

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from xml.etree import ElementTree

import msgspec
import pytest
from example_records import dqn_records
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from examples import examples
from runner.matrix import Kind, Matrix, Updates
from runner.records.record import Record
from runner.report.tables.pages import render_pages
from runner.report.tables.plots.phases import phases_plot
from runner.report.tables.selection import Room, rooms

SVG = "{http://www.w3.org/2000/svg}"


def room_of(matrix: Matrix, records: list[Record]) -> Room:
    [room, *_] = rooms(matrix, records, "dqn", profile="quick")
    return room


def timed(**metrics: float) -> list[Record]:
    """The example's trainings, each with these metrics."""
    return [
        msgspec.structs.replace(
            each, measurement=msgspec.structs.replace(each.measurement, metrics={**each.metrics, **metrics})
        )
        for each in dqn_records()
        if each.measurement is not None
    ]


def bars(svg: str) -> list[tuple[str, float]]:
    """Each rectangle's class and width, in order."""
    found = ElementTree.fromstring(svg).iter(f"{SVG}rect")  # noqa: S314 (our own)
    return [(str(each.get("class")), float(str(each.get("width")))) for each in found]


def test_the_example_page_shows_the_golden_plot_which_says_its_figures_in_words(
    matrix: Matrix, assert_golden: Callable[[str, str], None]
) -> None:
    pages = {each.file: each.text for each in render_pages(matrix, dqn_records(), profile="quick")}
    assert "(dqn-phases.svg)" in pages["dqn.md"]
    assert_golden("dqn-phases.svg", pages["dqn-phases.svg"])
    said = ElementTree.fromstring(pages["dqn-phases.svg"]).find(f"{SVG}desc")  # noqa: S314 (our own)
    assert re.match(
        r"pytorch: \S+ s in all, of it start and imports 2.50 s, training \S+ s; rust: ", said.text
    )


def test_a_bar_is_divided_as_its_process_spent_its_time(matrix: Matrix) -> None:
    records = timed(wall_seconds=10.0, initialisation_seconds=5.0, compile_seconds=3.0, training_seconds=5.0)
    svg = phases_plot([room_of(matrix, records)], {})
    widths = [("starting", 100.0), ("compiling", 150.0), ("training", 250.0)]
    assert bars(str(svg)) == widths * 3


@pytest.mark.parametrize(
    ("one", "expected"),
    [
        (0.002, [("starting", 250.0), ("updating", 50.0), ("other", 200.0)]),
        # Alone an update took longer than it can have taken within the training.
        (0.02, [("starting", 250.0), ("training", 250.0)]),
    ],
)
def test_updates_divide_a_training_where_they_were_measured_alone(
    matrix: Matrix, one: float, expected: list[tuple[str, float]]
) -> None:
    records = timed(wall_seconds=10.0, initialisation_seconds=5.0, training_seconds=5.0)
    room = room_of(matrix, records)
    updates = Updates(benchmark="update", count="gradient_steps", cases={"CartPole-v1": "dqn"})
    divided = replace(room, benchmark=replace(room.benchmark, updates=updates))
    svg = phases_plot([divided], {("CartPole-v1", "rust"): one})
    whole = [("starting", 250.0), ("training", 250.0)]
    assert bars(str(svg)) == [*whole, *expected, *whole]


def test_there_is_no_plot_where_no_record_knows_its_phases_or_times_are_not_ranked(matrix: Matrix) -> None:
    room = room_of(matrix, dqn_records())
    assert phases_plot([replace(room, execution=None)], {}) is None
    assert phases_plot([room_of(matrix, [])], {}) is None


def test_an_operation_has_no_phases(matrix: Matrix) -> None:
    room = room_of(matrix, dqn_records())
    operation = replace(room, benchmark=replace(room.benchmark, kind=Kind.OPERATION))
    assert phases_plot([operation], {}) is None


@given(
    metrics=st.fixed_dictionaries(
        {},
        optional={
            name: st.floats(0, 1e300)
            for name in ("wall_seconds", "initialisation_seconds", "compile_seconds", "training_seconds")
        },
    )
)
@examples(20, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_nothing_lies_outside_whatever_a_record_says(matrix: Matrix, metrics: Mapping[str, float]) -> None:
    svg = phases_plot([room_of(matrix, timed(**metrics))], {("CartPole-v1", "rust"): 1e-3})
    if svg is None:
        return
    root = ElementTree.fromstring(svg)  # noqa: S314 (our own)
    for shape in root.iter(f"{SVG}rect"):
        right = float(str(shape.get("x"))) + float(str(shape.get("width")))
        assert right <= float(str(root.get("width")))
