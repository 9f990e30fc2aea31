"""Every page is made of every record that the schema allows: what is missing or zero is a dash, never an exception."""

import copy
import re
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from example_records import episodes_reaching, json_of, make_record, times
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from runner.matrix import Benchmark, Implementation, Matrix, Side, load_matrix
from runner.records.record import Record, record_of
from runner.records.schema_text import SCHEMA
from runner.report.tables.pages import render_pages
from runner.system.schema import schema

# All of the benchmarks that measure rates, and enough of the others.
_MOST_CASES = 3
# A table treats all implementations of a side alike, so two of each show what any does.
_MOST_OF_A_SIDE = 2
Data = dict[str, Any]
Change = Callable[[Data], object]


@cache
def shipped() -> Matrix:
    return load_matrix(Path(__file__).parents[4] / "matrix.yaml")


@cache
def complete() -> tuple[Record, ...]:
    """Cells of every benchmark of the short profile, with figures that make every table and verdict."""
    return tuple(_cells())


def _cells() -> Iterator[Record]:
    for benchmark in shipped().benchmarks.values():
        sizes = benchmark.sizes["quick"].native
        for rank, implementation in enumerate(_some_of_each_side(benchmark)):
            for case in list(benchmark.cases.values())[:_MOST_CASES]:
                for seed in (1, 2, 3, 4, 5):
                    yield make_record(
                        benchmark=benchmark.name,
                        case=case.name,
                        implementation=implementation.name,
                        seed=seed,
                        parameters={**case.parameters, **sizes},
                        metrics={benchmark.headline: times((rank + 1) * 1e-4, seed, 3)},
                        counts=dict.fromkeys(benchmark.counts, 1000),
                        target=implementation.image.name,
                        under=benchmark.limits[0] if benchmark.limits else "default",
                        episodes=episodes_reaching(400) if benchmark.gate.episodes else None,
                    )


def _some_of_each_side(benchmark: Benchmark) -> Iterator[Implementation]:
    taken: Counter[Side] = Counter()
    for each in benchmark.implementations.values():
        taken[each.side] += 1
        if taken[each.side] <= _MOST_OF_A_SIDE or each.reference:
            yield each


def every_metric(value: object) -> Change:
    def change(data: Data) -> None:
        metrics = data["measurement"]["metrics"]
        metrics.update(dict.fromkeys(metrics, value))

    return change


def replaced(value: object, *path: str) -> Change:
    def change(data: Data) -> None:
        for key in path[:-1]:
            data = data[key]
        data[path[-1]] = copy.deepcopy(value)

    return change


def every_value(value: object, *path: str) -> Change:
    def change(data: Data) -> None:
        for key in path:
            data = data[key]
        data.update(dict.fromkeys(data, value))

    return change


CHANGES: dict[str, Change] = {
    "times of zero": every_metric([0.0, 0.0, 0.0]),
    "a time of zero": every_metric(0),
    "some times of zero": every_metric([0, 1e-5, 0]),
    "tiny times": every_metric([5e-324]),
    "huge times": every_metric([1e15]),
    "no headline": replaced({"moments": 1.0}, "measurement", "metrics"),
    "counts of zero": every_value(0, "measurement", "counts"),
    "huge counts": every_value(2**53 - 1, "measurement", "counts"),
    "other counts": replaced({"other": 1}, "measurement", "counts"),
    "no memory": every_value(None, "measurement", "memory"),
    "little memory": every_value(1, "measurement", "memory"),
    "no measurement, failed": lambda data: data.update(
        measurement=None, failure={"kind": "new", "detail": ""}
    ),
    "failed with a measurement": replaced({"kind": "deadline", "detail": "x"}, "failure"),
    "no episodes": replaced([], "episodes"),
    "null episodes": replaced(None, "episodes"),
    "one empty episode": replaced([{"step": 0, "length": 0, "return": 0}], "episodes"),
    "extreme returns": replaced([{"step": 9, "length": 9, "return": -1e15}] * 3, "episodes"),
    "no gate": replaced([], "gate"),
    "a share of nothing": replaced([{"check": "", "passed": True, "detail": "", "share": 0}], "gate"),
    "no outputs": replaced({}, "outputs"),
    "no inputs": replaced({}, "inputs"),
    "no software": replaced({}, "software"),
    "unknown software": every_value(None, "software"),
    "no machine": replaced({}, "machine"),
    "an unknown machine": every_value(None, "machine"),
    "no state": replaced({}, "launch", "state"),
    "an unknown state": every_value(None, "launch", "state"),
    "no expected counts": replaced({}, "expected_counts"),
    "no CPU set": replaced(None, "launch", "limits", "cpuset"),
    "no limit": replaced(0, "launch", "limits", "memory_bytes"),
    "nothing enforced": replaced([], "launch", "limits", "enforced"),
    "no wall time": replaced(0, "launch", "wall_seconds"),
    "unknown execution": replaced({"kind": "unknown", "emulator": None}, "execution"),
    "an emulator without a name": replaced({"kind": "emulated", "emulator": None}, "execution"),
    "no image": lambda data: data["image"].update(identity=None, config_digest=None, manifest_digest=None),
    "no parameters": replaced({}, "parameters"),
}


def render(changed: Callable[[Record], list[Change]]) -> None:
    records = []
    for record in complete():
        changes = changed(record)
        data = json_of(record)
        for change in changes:
            try:
                change(data)
            except (AttributeError, TypeError):
                # An earlier change took away what this one is about.
                continue
        if changes:
            assert schema(SCHEMA).allows(data), schema(SCHEMA).why_not(data)
        records.append(record_of(data) if changes else record)
    for page in render_pages(shipped(), records, profile="quick"):
        assert page.text
        assert re.search(r"[0-9,]{40}", page.text) is None


@pytest.mark.parametrize("name", CHANGES)
def test_a_page_is_made_where_every_record_lacks_it(name: str) -> None:
    render(lambda _: [CHANGES[name]])


@settings(max_examples=8, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.lists(
        st.tuples(
            st.sampled_from(list(CHANGES)),
            st.sampled_from(sorted(shipped().benchmarks)),
            st.sampled_from([None, 1, 5]),
            st.sampled_from(["reference", "other", "all"]),
        ),
        min_size=1,
        max_size=6,
    )
)
def test_a_page_is_made_whatever_some_records_lack(changes: list[tuple[str, str, int | None, str]]) -> None:
    def changed(record: Record) -> list[Change]:
        (reference,) = (
            each.name
            for each in shipped().benchmarks[record.benchmark].implementations.values()
            if each.reference
        )
        whose = {"all", "reference" if record.implementation == reference else "other"}
        return [
            CHANGES[name]
            for name, benchmark, seed, side in changes
            if benchmark == record.benchmark and seed in (None, record.seed) and side in whose
        ]

    render(changed)
