"""Why a cell runs although it has a record: the parts of its content that have changed."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from msgspec import UnsetType

from runner.planning.cells import Cell
from runner.planning.recipe import lacks
from runner.records.key import KEY_VERSIONS, Content, ingredients_of
from runner.records.record import Record
from runner.system.machine import fingerprint
from runner.system.printable import one_line

Place = tuple[str, str, str, str, int]

# The words for each part, in the order of the message.
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
    "reference_platform": "another platform's reference judges it",
    "refereed": "it has a referee now, or had one then",
    "other_work": "what differs in its work changed",
}
# Parts that a content has only where they hold.
_ABSENT_IF_NOT = frozenset({"reference_platform", "refereed", "other_work"})
# For these parts the message shows the new and old values, which are short.
_WITH_VALUES = frozenset(
    {"machine", "executor", "execution", "architecture", "toolchain", "parameters", "limits", "headline"}
)
_UNSEEN = "its gate, counts, headline, inputs or reference changed"
_OTHER_RULES = "its key was made by an earlier version, by other rules"
_LONGEST_VALUE, _LONGEST_CHANGE = 40, 400
_GIB = 2**30


class Earlier:
    """The records of a store by their cell, with any content."""

    def __init__(self, records: Iterable[Record]) -> None:
        self._of: dict[Place, list[Record]] = {}
        for record in records:
            place = (record.benchmark, record.case, record.implementation, record.platform, record.seed)
            self._of.setdefault(place, []).append(record)

    def changes(self, cell: Cell, now: Mapping[int, Content]) -> tuple[Record, tuple[str, ...]] | None:
        """The record of ``cell`` nearest to its content ``now``, and the differences; None without a record."""
        place = (
            cell.benchmark.name,
            cell.case.name,
            cell.implementation.name,
            cell.platform.name,
            cell.seed,
        )
        found = [(record, differences(record, now)) for record in reversed(self._of.get(place, []))]
        return min(found, key=lambda each: len(each[1]), default=None)


def differences(record: Record, contents_now: Mapping[int, Content]) -> tuple[str, ...]:
    """The parts of ``record``'s content that have changed, in words; never empty for a record of another key.

    Args:
        record: an earlier one.
        contents_now: the content of its cell by each version of the rules.
    """
    # A later version may have written the record by rules that this version does not know.
    version = record.made_by_rules if record.made_by_rules in contents_now else max(contents_now)
    then, now = _content_of(record, version), _plain(contents_now[version])
    found = tuple(
        # A record may hold any text, and this message goes to a terminal.
        one_line(_in_words(part, now.get(part), then.get(part)), _LONGEST_CHANGE)
        for part in _SUBJECTS
        if (part in then or (part in _ABSENT_IF_NOT and "reference" in then))
        and then.get(part) != now.get(part)
    )
    # A record of the first schema lacks some parts of its key's content.
    return found or (_UNSEEN if lacks(record) else _OTHER_RULES,)


def _content_of(record: Record, version: int) -> Content:
    """The content of the record's key, as far as the record holds it."""
    if not isinstance(record.work, UnsetType):
        return _plain(KEY_VERSIONS[version](ingredients_of(record, record.work)))
    known: Content = {
        "command": record.command,
        "parameters": record.parameters,
        "architecture": record.image.architecture,
        "execution_hash": record.image.execution_hash,
        "execution": record.execution.plain(),
        "executor": record.launch.executor,
        "machine": fingerprint(record.machine.plain()),
    }
    return _plain(known)


def _plain(value: Content) -> Content:
    """The value as JSON returns it, without tuples."""
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
        # The values differ by a few MiB of many GiB, so only exact figures show the difference.
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
