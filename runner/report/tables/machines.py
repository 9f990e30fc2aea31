"""Records by their machine, in the order in which a page numbers the machines."""

import json
from collections.abc import Iterable, Mapping
from typing import Any

from runner.records.record import Record


def by_machine(records: Iterable[Record]) -> list[tuple[Mapping[str, Any], list[Record]]]:
    """Each description of a machine with its records.

    The order of records changes nothing. A new kernel or governor makes another machine: pages show both, and
    counters restarted in between.
    """
    found: dict[str, list[Record]] = {}
    for record in records:
        found.setdefault(json.dumps(record.machine.plain(), sort_keys=True), []).append(record)
    return [(found[text][0].machine.plain(), found[text]) for text in sorted(found)]
