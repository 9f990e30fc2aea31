"""The type of a record refuses what is none, and its schema's text follows from it.

That it keeps every published record to the letter, tests/unit/published/test_records.py shows.
"""

import os

import pytest
from example_records import example_work, json_of, make_record

from runner.records.record import content_hash, record_of
from runner.records.schema_text import SCHEMA, schema_text
from runner.system.schema import schema


def test_the_text_of_the_schema_is_that_of_the_type():
    """``FORGE_BENCH_UPDATE_GOLDEN=1 pytest tests/unit/records`` writes it anew."""
    if os.environ.get("FORGE_BENCH_UPDATE_GOLDEN"):
        SCHEMA.write_text(schema_text(), encoding="utf-8")
    assert SCHEMA.read_text(encoding="utf-8") == schema_text()


@pytest.mark.parametrize(("version", "valid"), [(1, True), (1.0, False), (4, False), ("1", False)])
def test_the_type_and_the_text_take_the_same_versions(version, valid):
    data = json_of(make_record()) | {"schema": version}
    if valid:
        record_of(data)
    else:
        with pytest.raises(ValueError, match="schema"):
            record_of(data)
    assert schema(SCHEMA).allows(data) == valid
    assert (not list(schema(SCHEMA).faults(data))) == valid


def test_a_record_cannot_be_changed():
    record = make_record()
    with pytest.raises(AttributeError):
        record.profile = "full"


def test_what_is_absent_stays_absent_and_what_is_null_stays_null():
    data = json_of(make_record())
    data["machine"] = {"cpu_model": None}
    again = json_of(record_of(data))
    assert again["machine"] == {"cpu_model": None}
    assert "work" not in again


@pytest.mark.parametrize("number", [4, 4.0, 1e-07, 1e15, 0])
def test_a_number_keeps_the_form_that_it_was_written_in(number):
    data = json_of(make_record())
    data["measurement"]["metrics"] = {"seconds": [number], "training_seconds": number}
    data["launch"]["wall_seconds"] = number
    assert content_hash(json_of(record_of(data))) == content_hash(data)


def without(data: dict, *path: str) -> dict:
    part = data
    for key in path[:-1]:
        part = part[key]
    del part[path[-1]]
    return data


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda data: data.update(schema=2), "schema 2 requires work and launch.cases"),
        (lambda data: data.update(schema=2, work=example_work()), "schema 2 requires work and launch.cases"),
        (lambda data: data.update(schema=99), "schema"),
        (lambda data: data.update(key_version=1), "key_version"),
        (
            lambda data: (
                data.update(schema=3, work=example_work()),
                data["launch"].update(cases=["T=128"]),
            ),
            "key_version is required",
        ),
        (lambda data: data.update(work=None), "work"),
        (lambda data: data.update(measurement=None), "neither a failure nor a measurement"),
        (lambda data: data.update(parameters={"environments": 0}), "environments"),
        (lambda data: data.update(parameters={"environments": True}), "environments"),
        (lambda data: data.update(work=without(example_work(), "toolchain", "rust")), "toolchain lacks rust"),
        (lambda data: data["launch"].update(started_at="2026-01-01T00:00:00"), "started_at"),
        (lambda data: data["cell"].update(seed=1.0), "cell.seed"),
        (lambda data: data["machine"].update(colour="red"), "colour"),
        (lambda data: without(data, "execution", "emulator"), "emulator"),
    ],
)
def test_what_is_no_record_is_refused_and_the_place_is_named(change, said):
    data = json_of(make_record())
    change(data)
    with pytest.raises(ValueError, match=said):
        record_of(data)
