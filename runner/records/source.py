"""Where records are read from: a store or a publication, by a path or by a publication's name."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from runner.records.publication import Publication, is_publication
from runner.records.record import Record
from runner.records.store import Store
from runner.system.errors import StoreError, UsageError
from runner.system.printable import first_of

_MOST_NAMED = 10


class RecordSource(Protocol):
    """A folder of records that a command reads: a store or a publication."""

    @property
    def root(self) -> Path:
        """The folder."""
        ...

    def records(self) -> list[Record]:
        """Every intact record, oldest first."""
        ...


@dataclass(frozen=True, kw_only=True)
class Address:
    """A place with records, and the start of one record's identifier or content hash (``NAME#PREFIX``)."""

    path: Path
    prefix: str | None


def source_at(path: Path) -> RecordSource:
    """The records in the folder ``path``, for reading.

    Raises:
        DamagedRecord: the folder is a damaged publication.
    """
    return Publication.at(path) if is_publication(path) else Store(path)


def store_at(path: Path) -> Store:
    """The store in the folder ``path``, for writing.

    Raises:
        StoreError: the folder is a publication.
    """
    if is_publication(path):
        raise StoreError(
            what=f"{path} is a publication",
            why="a publication is frozen: verify, compare, export, render and show read it, and nothing writes to it",
            fix="give another directory with --results",
        )
    return Store(path)


def named_path(text: str, published: Path) -> Path:
    """The path ``text``. Where no such path exists and a publication has that name, the publication's folder."""
    is_name = text not in ("", ".", "..") and "/" not in text
    return (
        published / text if is_name and not _exists(Path(text)) and _exists(published / text) else Path(text)
    )


def address_of(text: str, published: Path) -> Address:
    """The records that ``PATH``, ``NAME``, ``PATH#PREFIX`` or ``NAME#PREFIX`` names.

    A file of that exact name comes first.
    """
    place, mark, prefix = text.rpartition("#")
    if not mark or _exists(Path(text)):
        return Address(path=named_path(text, published), prefix=None)
    return Address(path=named_path(place, published), prefix=prefix)


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:
        # The name is too long, or its folder cannot be read. The code that opens it reports the error.
        return False


def record_beginning(records: Sequence[Record], prefix: str) -> Record:
    """The one record whose identifier or content hash begins with ``prefix``.

    Raises:
        UsageError: there is none, or more than one.
    """
    if not prefix:
        raise UsageError(
            what="no record is named",
            why="the name does not say which record is meant",
            fix="give the start of a record's identifier or content hash",
        )
    found = [
        record
        for record in records
        if record.identifier.startswith(prefix) or record.content_sha256.startswith(prefix)
    ]
    exact = [record for record in found if prefix in (record.identifier, record.content_sha256)]
    if len(exact or found) == 1:
        return (exact or found)[0]
    if not found:
        raise UsageError(
            what=f'no record begins with "{prefix}"',
            why=f"none of the {len(records)} records has an identifier or content hash that does",
            fix="take an identifier from summary.csv of a publication, or from forge-bench export",
        )
    named = first_of([record.identifier for record in found], _MOST_NAMED)
    raise UsageError(
        what=f'{len(found)} records begin with "{prefix}"',
        why=f"they are {named}",
        fix="give more of the identifier, or the start of the content hash",
    )
