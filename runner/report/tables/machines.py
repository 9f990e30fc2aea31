"""Records by the machine that they were made on, in the order in which a page numbers those."""

import json
from collections.abc import Iterable, Mapping
from typing import Any

from runner.records.record import Record


def by_machine(records: Iterable[Record]) -> list[tuple[Mapping[str, Any], list[Record]]]:
    """Each description of a machine with its records, in an order that does not depend on theirs.

    A machine with another kernel or governor is another: pages show both, and counters began anew in between.
    """
    found: dict[str, list[Record]] = {}
    for record in records:
        found.setdefault(json.dumps(record.data["machine"], sort_keys=True), []).append(record)
    return [(found[text][0].data["machine"], found[text]) for text in sorted(found)]
