"""Why a cell runs although a record of it is there: what of its content is not what it was then."""

import json
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from runner.planning.cells import Cell, content
from runner.planning.recipe import lacks, load_work
from runner.records.execution import Execution, ExecutionKind
from runner.records.record import Record
from runner.system.errors import StoreError
from runner.system.machine import fingerprint
from runner.system.printable import one_line

Content = Mapping[str, Any]
Place = tuple[str, str, str, str, int]

# In words, in the order in which they are told.
_SUBJECTS = {
    "machine": "another machine",
    "executor": "another executor",
    "execution": "executed otherwise",
    "architecture": "another architecture",
    "toolchain": "another toolchain",
    "execution_hash": "inputs of the image changed",
    "command": "its command changed",
    "parameters": "other parameters",
    "limits": "other limits",
    "inputs": "the inputs' generator changed",
    "gate": "its gate changed",
    "counts": "its expected counts changed",
    "headline": "another headline metric",
    "reference": "the reference's command changed",
}
# Their new and old values are short and say more than that they differ.
_WITH_VALUES = frozenset(
    {"machine", "executor", "execution", "architecture", "toolchain", "parameters", "limits", "headline"}
)
_UNSEEN = "its gate, counts, headline, inputs or reference changed"
_OTHER_RULES = "its key was made by an earlier version, by other rules"
_LONGEST_VALUE, _LONGEST_CHANGE = 40, 400
_GIB = 2**30


class Earlier:
    """The records of a store by the cell that they are of, whatever their content was."""

    def __init__(self, records: Iterable[Record]) -> None:
        self._of: dict[Place, list[Record]] = {}
        for record in records:
            place = (record.benchmark, record.case, record.implementation, record.platform, record.seed)
            self._of.setdefault(place, []).append(record)

    def changes(self, cell: Cell, now: Content) -> tuple[Record, tuple[str, ...]] | None:
        """The record of ``cell`` that is nearest to its content ``now``, and what differs; None without one."""
        place = (
            cell.benchmark.name,
            cell.case.name,
            cell.implementation.name,
            cell.platform.name,
            cell.seed,
        )
        found = [(record, differences(record, now)) for record in reversed(self._of.get(place, []))]
        return min(found, key=lambda each: len(each[1]), default=None)


def differences(record: Record, now: Content) -> tuple[str, ...]:
    """What of ``record``'s content is not as ``now``, in words; for a record of another key never empty."""
    then = _content_of(record)
    now = _plain(now)
    found = tuple(
        # What a record says may be anything, and this goes to a terminal.
        one_line(_in_words(part, now[part], then[part]), _LONGEST_CHANGE)
        for part in _SUBJECTS
        if part in then and then[part] != now[part]
    )
    # A record of the first schema does not hold all that its key was made of.
    return found or (_UNSEEN if lacks(record) else _OTHER_RULES,)


def _content_of(record: Record) -> Content:
    """What the record's key was made of, as far as the record holds it."""
    data = record.data
    execution = Execution(
        kind=ExecutionKind(data["execution"]["kind"]), emulator=data["execution"]["emulator"]
    )
    known: dict[str, Any] = {
        "command": data["command"],
        "parameters": data["parameters"],
        "architecture": data["image"]["architecture"],
        "execution_hash": data["image"]["execution_hash"],
        "execution": {"kind": execution.kind.value, "emulator": execution.emulator},
        "executor": data["launch"]["executor"],
        "machine": fingerprint(data["machine"]),
    }
    if lacks(record) is None:
        # Where its work makes no sense, what stands beside the work still does.
        with suppress(StoreError):
            known = content(
                load_work(record).cell,
                execution_hash=known["execution_hash"],
                execution=execution,
                executor=known["executor"],
                machine=known["machine"],
            )
    return _plain(known)


def _plain(value: Content) -> Content:
    """As it comes back from JSON: no tuples."""
    return json.loads(json.dumps(value))  # type: ignore[no-any-return]  # what went in comes out


def _in_words(part: str, now: Any, then: Any) -> str:
    subject = _SUBJECTS[part]
    if part == "execution_hash" and str(now).startswith("host:"):
        subject = "files of the checkout changed"
    if part not in _WITH_VALUES:
        return subject
    if not isinstance(now, dict):
        return f"{subject}: {_value('', now)}, was {_value('', then)}"
    told = [
        _difference(key, now.get(key), then.get(key))
        for key in _keys(now, then)
        if now.get(key) != then.get(key)
    ]
    return f"{subject}: {'; '.join(told)}"


def _difference(key: str, now: Any, then: Any) -> str:
    if _value(key, now) == _value(key, then):
        # A few MiB of many GiB: only the exact figures tell them apart.
        return f"{key} {now}, was {then}"
    return f"{key.removesuffix('_bytes')} {_value(key, now)}, was {_value(key, then)}"


def _keys(now: Mapping[str, Any], then: Mapping[str, Any]) -> Sequence[str]:
    return [*now, *(key for key in then if key not in now)]


def _value(key: str, value: Any) -> str:
    if value is None:
        return "none"
    if key.endswith("_bytes") and isinstance(value, int | float):
        return f"{value / _GIB:.4g} GiB"
    text = str(value)
    return text if len(text) <= _LONGEST_VALUE else text[: _LONGEST_VALUE - 2] + ".."
