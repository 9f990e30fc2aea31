"""From a file or a directory to its records, each by its own content hash and by the schema."""

from collections.abc import Iterable
from pathlib import Path

from runner.records.order import oldest_first
from runner.records.record import Record
from runner.records.record_file import read_record, says_no_record, unreadable
from runner.system.errors import DamagedRecord, UsageError

_MOST_NAMED = 10


def read_records(path: Path) -> tuple[Record, ...]:
    """Every record at or below ``path``, oldest first.

    A store, a publication, or a folder of several is read where records lie in such (``records/BENCHMARK/*.json``);
    a folder that has none there, for the JSON files right in it.

    Raises:
        UsageError: there is none.
        StoreError: a file may not be read.
        DamagedRecord: one or more were altered or cut off; all of them are named.
    """
    files = _files(path)
    if not files:
        raise UsageError(
            what=f"there is no record in {path}",
            why="it is neither a record nor a directory with records/BENCHMARK/*.json in it",
            fix="name a record's file, a publication (results/published/…) or a results directory",
        )
    records: dict[str, Record] = {}
    damaged = []
    for file in files:
        try:
            _add(records, read_record(file))
        except (OSError, ValueError) as error:
            if isinstance(error, OSError) and not says_no_record(error):
                raise unreadable(file, error) from error
            damaged.append((file, str(error) or type(error).__name__))
    if damaged:
        raise _damaged(damaged)
    return tuple(oldest_first(records.values()))


def _files(path: Path) -> list[Path]:
    if path.is_file():
        return [path]
    # What is hidden is somebody else's: macOS puts a ._X.json beside each file on some disks.
    found = [file for file in sorted(path.rglob("[!.]*.json")) if file.is_file()]
    stored = [file for file in found if file.resolve().parent.parent.name == "records"]
    return stored or [file for file in found if file.parent == path]


def _add(records: dict[str, Record], record: Record) -> None:
    """A copy of a record counts once; another record may not go by its name."""
    if records.setdefault(record.identifier, record).data != record.data:
        raise ValueError(f"another record has its name, {record.identifier}: one of them was made up")


def _damaged(damaged: Iterable[tuple[Path, str]]) -> DamagedRecord:
    listing = list(damaged)
    shown = [f"    {file}: {why}" for file, why in listing[:_MOST_NAMED]]
    if len(listing) > _MOST_NAMED:
        shown.append(f"    and {len(listing) - _MOST_NAMED} more")
    return DamagedRecord(
        what=f"{len(listing)} damaged record{'s' if len(listing) > 1 else ''}\n" + "\n".join(shown),
        why="a record is sealed with the hash of its own content, and nothing of it may be edited",
        fix="take the files again from where they came; nothing was run",
    )
