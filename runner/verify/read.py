"""Read the records of a file or directory, each checked by its content hash and the schema."""

from collections.abc import Iterable, Sequence
from pathlib import Path

from runner.records.order import oldest_first
from runner.records.publication import FACTS, RECORDS, Publication
from runner.records.record import Record
from runner.records.record_file import SelfContradiction, read_record, says_no_record, unreadable
from runner.system.errors import ContradictoryRecord, DamagedRecord, UsageError

_MOST_NAMED = 10


def read_records(path: Path, *, opened: Publication | None = None) -> tuple[Record, ...]:
    """Every record at or below ``path``, oldest first.

    ``path`` may be a store, a publication, or a folder of several. Records lie in ``records/BENCHMARK/*.json`` or
    ``records.jsonl.gz``. In any other folder the JSON files directly inside are read. ``opened`` is a publication that
    was opened already, and is not read again.

    Raises:
        UsageError: there is none.
        StoreError: a file may not be read.
        DamagedRecord: one or more were altered or cut off; all of them are named.
        ContradictoryRecord: all of those have the right hash, and contradict themselves.
    """
    files = _files(path)
    if not files:
        raise UsageError(
            what=f"there is no record in {path}",
            why="it is neither a record, nor a publication, nor a directory with records/BENCHMARK/*.json in it",
            fix="name a record's file, a publication by its name or folder, or a results directory",
        )
    records: dict[str, Record] = {}
    damaged, contradictory = [], 0
    for file in files:
        try:
            for record in _records_in(file, opened):
                _add(records, record)
        except DamagedRecord as error:
            contradictory += isinstance(error, ContradictoryRecord)
            damaged.append((file, error.why))
        except (OSError, ValueError) as error:
            if isinstance(error, OSError) and not says_no_record(error):
                raise unreadable(file, error) from error
            contradictory += isinstance(error, SelfContradiction)
            damaged.append((file, str(error) or type(error).__name__))
    if damaged:
        raise _damaged(damaged, contradictory=contradictory)
    return tuple(oldest_first(records.values()))


def _files(path: Path) -> list[Path]:
    if path.is_file():
        return [path]
    # Hidden files are not records: macOS puts a ._X.json beside each file on some disks.
    found = [file for file in sorted(path.rglob("[!.]*.json")) if file.is_file()]
    stored = [file for file in found if file.name == FACTS or file.resolve().parent.parent.name == "records"]
    return stored or [file for file in found if file.parent == path]


def _records_in(file: Path, opened: Publication | None) -> Sequence[Record]:
    """The records of a publication, of which ``file`` is a part, or the one record in ``file``."""
    if file.name not in (FACTS, RECORDS):
        return [read_record(file)]
    is_open = opened is not None and opened.root == file.parent
    return opened.records() if opened and is_open else Publication.at(file.parent).records()


def _add(records: dict[str, Record], record: Record) -> None:
    """The records without copies. Two different records may not share a name."""
    if records.setdefault(record.identifier, record) != record:
        raise ValueError(f"another record has its name, {record.identifier}: one of them was made up")


def _damaged(damaged: Iterable[tuple[Path, str]], *, contradictory: int) -> DamagedRecord:
    """The error for these files, of which so many have the right hash and contradict themselves."""
    listing = list(damaged)
    shown = [f"    {file}: {why}" for file, why in listing[:_MOST_NAMED]]
    if len(listing) > _MOST_NAMED:
        shown.append(f"    and {len(listing) - _MOST_NAMED} more")
    kind = ContradictoryRecord if contradictory == len(listing) else DamagedRecord
    return kind(
        what=f"{len(listing)} damaged record{'s' if len(listing) > 1 else ''}\n" + "\n".join(shown),
        why="a record is sealed with the hash of its own content, and nothing of it may be edited",
        fix="take the files again from where they came; nothing was run",
    )
