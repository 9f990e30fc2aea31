"""The definitions behind the records of a publication: what was run, what its gate compared, what it counts."""

from collections.abc import Iterable
from typing import Any

from runner.planning.definition import definition_of
from runner.planning.recipe import load_work
from runner.records.record import Record, content_hash


def definitions_of(records: Iterable[Record]) -> list[dict[str, Any]]:
    """Each definition once, with its SHA-256 and the number of its records, in the order of their names.

    Raises:
        StoreError: the work of a record does not fit together.
    """
    found: dict[str, dict[str, Any]] = {}
    for record in records:
        definition = definition_of(load_work(record).cell)
        entry = found.setdefault(content_hash(definition), {"definition": definition, "records": 0})
        entry["records"] += 1
    ordered = sorted(
        found.items(),
        key=lambda each: (each[1]["definition"]["benchmark"], each[1]["definition"]["implementation"]),
    )
    return [{"sha256": sha256, **entry} for sha256, entry in ordered]
