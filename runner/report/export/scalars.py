"""The columns that are single values of a record.

They follow from the record's type, so a new field becomes a new column. A column's name is the field's path in the
record, ``machine.kernel``, without parts that add nothing.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Any

from msgspec import UNSET, inspect

from runner.records.record import Record

# The prefix of a column's name, in place of the part's own name.
_SHORTER = {
    "cell.": "",
    "launch.limits.": "launch.",
    "launch.state.": "state.",
    "launch.state_after.": "state_after.",
    "measurement.memory.": "memory.",
}
# Each entry is one value, or a part with all of its values. Fields that are not named here come last.
_ORDER = (
    "id",
    "key",
    "profile",
    "cell",
    "execution",
    "created_at",
    "schema",
    "content_sha256",
    "determinism",
    "failure",
    "image",
    "machine",
    "launch",
    "launch.limits",
    "launch.state",
    "launch.state_after",
    "measurement.memory",
)
# These fields are left out: the work, names that are in other columns, and a log.
_NO_COLUMN = ("work.", "measurement.event", "measurement.case", "launch.stderr_tail")
_KINDS: tuple[tuple[type, type], ...] = (
    (inspect.StrType, str),
    (inspect.EnumType, str),
    (inspect.BoolType, bool),
    (inspect.FloatType, float),
    (inspect.IntType, int),
    (inspect.LiteralType, int),
)


@dataclass(frozen=True, kw_only=True)
class Scalar:
    """A column with one value for each record. ``path`` are the attributes that lead to it."""

    name: str
    type: type
    path: tuple[str, ...]

    def value(self, record: Record) -> Any:
        """The value; None where the record has none."""
        found: Any = record
        for name in self.path:
            found = getattr(found, name, None)
        if found is UNSET:
            return None
        return found.value if isinstance(found, Enum) else found


def _scalars(part: inspect.Type, place: str = "", path: tuple[str, ...] = ()) -> Iterator[tuple[str, Scalar]]:
    """Every single value below a part, with its place in the record's JSON."""
    part = part.type if isinstance(part, inspect.Metadata) else part
    choices = part.types if isinstance(part, inspect.UnionType) else (part,)
    for choice in choices:
        if isinstance(choice, inspect.StructType):
            for field in choice.fields:
                yield from _scalars(
                    field.type, f"{place}.{field.encode_name}".lstrip("."), (*path, field.name)
                )
            return
    kinds = {kind for choice in choices for of, kind in _KINDS if isinstance(choice, of)}
    if kinds and not any(isinstance(choice, inspect.CollectionType) for choice in choices):
        # JSON has one kind of number, so a column that may hold 4.5 is a column of floats.
        (kind,) = {float} if kinds == {int, float} else kinds
        yield place, Scalar(name=_name(place), type=kind, path=path)


def _name(place: str) -> str:
    longest = max((part for part in _SHORTER if place.startswith(part)), key=len, default="")
    return _SHORTER.get(longest, "") + place.removeprefix(longest)


def _columns() -> Iterator[Scalar]:
    every = {place: scalar for place, scalar in _scalars(inspect.type_info(Record)) if _has_column(place)}
    for wanted in _ORDER:
        for place in [each for each in every if wanted in (each, each.rpartition(".")[0])]:
            yield every.pop(place)
    yield from every.values()


def _has_column(place: str) -> bool:
    return not place.startswith(_NO_COLUMN)


COLUMNS_OF_A_RECORD = tuple(_columns())
COLUMNS_THAT_NAME_A_CELL = COLUMNS_OF_A_RECORD[
    : 1 + [each.name for each in COLUMNS_OF_A_RECORD].index("execution.kind")
]
