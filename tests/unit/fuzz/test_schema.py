"""The compiled schemas and the library say the same; both are strict about the ends of names."""

import json
import random
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples import examples
from runner.matrix import load as matrix_load
from runner.records import schema_text
from runner.records.measured import Measurement
from runner.records.record import record_of
from runner.referee import protocol
from runner.system.schema import Schema, schema
from tests.fuzz import corpus
from tests.fuzz.mutate import mutate_value

SCHEMAS = (schema_text.SCHEMA, protocol.SCHEMA, matrix_load.SCHEMA)


@examples(60)
@given(st.integers(0, 2**32), st.sampled_from([*corpus.records(), *corpus.lines()]))
def test_the_fast_answer_is_the_librarys(seed: int, text: bytes) -> None:
    value = mutate_value(json.loads(text), random.Random(seed))  # noqa: S311
    path = schema_text.SCHEMA if isinstance(value, dict) and "cell" in value else protocol.SCHEMA
    compiled = schema(path)
    faults = list(compiled.faults(value))
    assert compiled.allows(value) == (not faults), faults[:1]
    if faults:
        why = compiled.why_not(value)
        assert 0 < len(why) < 400


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=10,
)
RULES = st.fixed_dictionaries(
    {},
    optional={
        "type": st.sampled_from(["object", "array", "string", "number", "integer", "boolean", "null"])
        | st.just(["integer", "null"]),
        "required": st.lists(st.sampled_from(["a", "b"]), max_size=2, unique=True),
        "properties": st.just({"a": {"type": "integer"}, "b": {"minimum": 1}}),
        "additionalProperties": st.booleans() | st.just({"type": "string"}),
        "propertyNames": st.just({"pattern": "^[a-z]+$"}),
        "minProperties": st.integers(0, 2),
        "maxProperties": st.integers(0, 3),
        "items": st.just({"type": "number", "exclusiveMinimum": 0}),
        "minItems": st.integers(0, 2),
        "maxItems": st.integers(0, 3),
        "uniqueItems": st.booleans(),
        "enum": st.lists(st.sampled_from([1, True, "a", None, 0, False]), min_size=1, unique_by=repr),
        "const": st.sampled_from([1, True, "a", None]),
        "pattern": st.just("^a*$"),
        "minLength": st.integers(0, 2),
        "maxLength": st.integers(0, 3),
        "minimum": st.integers(-2, 2),
        "maximum": st.integers(-2, 2),
        "exclusiveMinimum": st.integers(-2, 2),
        "oneOf": st.just([{"type": "integer"}, {"minimum": 2}]),
        "anyOf": st.just([{"type": "string"}, {"maximum": 2}]),
        "format": st.just("date-time"),
    },
)


@examples(300)
@given(RULES, JSON)
def test_every_keyword_means_what_it_means_to_the_library(
    tmp_path_factory: pytest.TempPathFactory, rules: dict[str, Any], value: Any
) -> None:
    path = tmp_path_factory.mktemp("schema") / "x.json"
    path.write_text(json.dumps(rules), encoding="utf-8")
    compiled = Schema(path)
    assert compiled.allows(value) == (not list(compiled.faults(value)))


def test_a_keyword_that_is_not_known_is_not_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_text('{"multipleOf": 2}', encoding="utf-8")
    with pytest.raises(NotImplementedError, match="multipleOf"):
        Schema(path)


@pytest.mark.parametrize("path", SCHEMAS, ids=lambda path: path.name)
def test_no_pattern_ends_before_the_text_does(path: Path) -> None:
    """Python's ``$`` also matches before a newline at the end."""
    root = json.loads(path.read_text(encoding="utf-8"))
    patterns = [
        node["pattern"]
        for node in _nodes(root)
        if isinstance(node, dict) and isinstance(node.get("pattern"), str)
    ]
    assert patterns
    assert all(pattern.startswith("^") and pattern.endswith("$") for pattern in patterns)


def is_record(value: Any) -> bool:
    try:
        record_of(value)
    except ValueError:
        return False
    return True


@examples(60)
@given(st.integers(0, 2**32), st.sampled_from(corpus.records()))
def test_the_type_of_a_record_and_the_text_of_its_schema_say_the_same(seed: int, text: bytes) -> None:
    value = mutate_value(json.loads(text), random.Random(seed))  # noqa: S311
    assert is_record(value) == (not list(schema(schema_text.SCHEMA).faults(value)))


@examples(60)
@given(st.integers(0, 2**32), st.sampled_from(corpus.lines()[1:]))
def test_the_measurement_in_a_record_is_the_one_that_is_printed(seed: int, line: bytes) -> None:
    """Two files, because a record must be checkable by itself; one definition."""
    value = mutate_value(json.loads(line), random.Random(seed))  # noqa: S311
    try:
        msgspec.convert(value, Measurement)
        kept = True
    except ValueError:
        kept = False
    assert kept == (not list(schema(protocol.SCHEMA, "measurement").faults(value)))


@pytest.mark.parametrize(
    "name", ["gae\n", "gae ", "gae\0", "\uff47ae", "g\u0430e", "-gae", "../gae", "", "a" * 65]
)
def test_a_record_of_such_a_name_is_none(name: str) -> None:
    value = json.loads(corpus.records()[0])
    assert is_record(value)
    assert schema(schema_text.SCHEMA).allows(value)
    value["cell"]["benchmark"] = name
    assert not is_record(value)
    assert not schema(schema_text.SCHEMA).allows(value)


def test_the_schemas_text_allows_published_records() -> None:
    for text in corpus.published_texts("2026-11-21-quick"):
        value = json.loads(text)
        assert schema(schema_text.SCHEMA).allows(value), schema(schema_text.SCHEMA).why_not(value)


def test_a_million_wrong_items_are_refused_and_explained_at_once() -> None:
    event = json.loads(corpus.lines()[1])
    event["metrics"]["seconds"] = ["x"] * 1_000_000
    compiled = schema(protocol.SCHEMA, "measurement")
    assert not compiled.allows(event)
    assert "metrics.seconds" in compiled.why_not(event)


def _nodes(value: Any) -> list[Any]:
    below = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [value, *(node for each in below for node in _nodes(each))]
