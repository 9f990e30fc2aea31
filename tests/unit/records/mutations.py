"""Every field of a record, changed: what a forger with one wish would write, and what a slip would."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from runner.records.record import seal

Path = tuple[str | int, ...]
_HASH = re.compile(r"(sha256:|host:)?[0-9a-f]{16,64}\Z")
# Of a long list the first ones, one in the middle and the last stand for all.
_MOST = 4


@dataclass(frozen=True, kw_only=True)
class Mutation:
    """A field, what was done to it, and the record with the change, sealed anew."""

    path: Path
    how: str
    record: dict[str, Any]

    @property
    def field(self) -> str:
        """The path in words; an index is a star."""
        return "/".join("*" if isinstance(each, int) else each for each in self.path)


def mutations(data: dict[str, Any]) -> Iterator[Mutation]:
    """Each mutation of each field of a record's plain data."""
    unsealed = {key: value for key, value in data.items() if key != "content_sha256"}
    for path, value in _fields(unsealed):
        for how, changed in _changes(value):
            if path:
                yield Mutation(path=path, how=how, record=seal(_with(unsealed, path, changed)))


def _fields(value: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    yield path, value
    if isinstance(value, dict):
        for name, each in value.items():
            yield from _fields(each, (*path, name))
    elif isinstance(value, list):
        indexes = range(len(value))
        if len(value) > _MOST:
            indexes = (0, 1, len(value) // 2, len(value) - 1)
        for index in indexes:
            yield from _fields(value[index], (*path, index))


def _changes(value: Any) -> Iterator[tuple[str, Any]]:
    match value:
        case bool():
            yield "flipped", not value
            yield "null", None
        case int() | float():
            yield "times 1000", value * 1000 if value else 1000
            yield "negative", -value if value else -1
            yield "zero", 0 if value else 1
            yield "one more", value + 1
            yield "one less", value - 1
            yield "null", None
        case str():
            yield "longer", f"{value}x"
            if _HASH.match(value):
                yield "another digit", value[:-1] + ("0" if value[-1] != "0" else "1")
            yield "null", None
        case None:
            yield "text", "x"
            yield "number", 1
        case list():
            if value:
                yield "without its last", value[:-1]
                yield "its last twice", [*value, value[-1]]
            if len(value) > 1 and value[0] != value[-1]:
                yield "its ends swapped", [value[-1], *value[1:-1], value[0]]
        case dict():
            for name in list(value)[:_MOST]:
                yield f"without {name}", {key: each for key, each in value.items() if key != name}


def _with(data: Any, path: Path, changed: Any) -> Any:
    if not path:
        return changed
    head, *rest = path
    if isinstance(data, list):
        assert isinstance(head, int)
        return [*data[:head], _with(data[head], tuple(rest), changed), *data[head + 1 :]]
    return {**data, head: _with(data[head], tuple(rest), changed)}


def text_of(record: dict[str, Any]) -> bytes:
    return json.dumps(record).encode()
