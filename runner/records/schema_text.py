"""The text of schemas/record.schema.json. It follows from the type, for readers of records in other languages."""

import json
import re
from pathlib import Path
from typing import Any

import msgspec

from runner.records.record import Record

SCHEMA = Path(__file__).parents[1] / "schemas" / "record.schema.json"
# The rules that a type cannot express; ``Record.__post_init__`` checks the same rules.
_RULES: dict[str, Any] = {
    "oneOf": [
        {"properties": {"schema": {"const": 1}, "key_version": False}},
        {
            "properties": {"schema": {"const": 2}, "key_version": False, "launch": {"required": ["cases"]}},
            "required": ["work"],
        },
        {
            "properties": {"schema": {"const": 3}, "launch": {"required": ["cases"]}},
            "required": ["work", "key_version"],
        },
    ],
    "anyOf": [
        {
            "description": "It failed, or it measured something.",
            "properties": {"failure": {"type": "object"}},
        },
        {"properties": {"measurement": {"type": "object"}}},
    ],
}


def schema_text() -> str:
    """The content of the file."""
    generated = msgspec.json.schema(Record)
    definitions = {name: _described(each) for name, each in generated["$defs"].items()}
    record = definitions.pop("Record")
    text = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "https://forge-bench.invalid/schemas/record.schema.json",
        **record,
        "title": "forge-bench record",
        **_RULES,
        "$defs": definitions,
    }
    return json.dumps(_portable(text), indent=2) + "\n"


def _described(definition: dict[str, Any]) -> dict[str, Any]:
    """Move a docstring's text about each attribute to that attribute's property."""
    whole, _, attributes = definition.get("description", "").partition("Attributes:")
    entries = re.split(r"\n {8}(?=\w+: )", attributes)
    said = dict(" ".join(entry.split()).split(": ", 1) for entry in entries if entry.strip())
    names = {field.name: field.encode_name for field in msgspec.structs.fields(Record)}
    properties = {name: dict(each) for name, each in definition.get("properties", {}).items()}
    for name, text in said.items():
        properties[names.get(name, name)]["description"] = text
    return (
        definition | {"description": " ".join(whole.split())} | ({"properties": properties} if said else {})
    )


def _portable(node: Any) -> Any:
    """Add what the type means by a pattern and by a choice of whole numbers.

    ``$`` is the end of the text in JSON Schema. There 1.0 equals 1, so a choice of numbers needs a type too.
    """
    if isinstance(node, dict):
        portable = {
            key: each[: -len(r"\Z")] + "$" if key == "pattern" and isinstance(each, str) else _portable(each)
            for key, each in node.items()
        }
        choices = node.get("enum", ())
        whole = bool(choices) and all(type(each) is int for each in choices)
        return portable | ({"type": "integer"} if whole else {})
    return [_portable(each) for each in node] if isinstance(node, list) else node
