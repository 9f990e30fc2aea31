"""The store: an append-only directory of records, and the files that belong to them.

    records/<benchmark>/<id>.json    one record for each file, written whole or not at all
    references/<key>/<content>/…     the reference outputs that gates compare with (references.py)
    inputs/<key>/<case>/…            the input files from the benchmark's own generator
    probes/<digest>.json             the versions that an image's first launch printed
    logs/<launch>.log                an implementation's stderr
    tables/*.md                      pages, which can be rendered again from the records
    slurm/<plan>/…                   what a fleet was given and answered, until the plan has ended
    ledger.jsonl                     every plan that was begun here and every launch of it; never removed
    ledger.cut-*                     the beginning of a line that a crash cut off
    **/.part-*                       unfinished files; a file gets its name when it is whole and on the disk

A record is found by its content key, never by its file name. Of several records with one key the newest counts.
"""

import contextlib
import fcntl
import json
import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from runner.records.order import oldest_first
from runner.records.record import Record
from runner.records.record_file import (
    SelfContradiction,
    contradictory,
    read_record,
    record_text,
    says_no_record,
    unreadable,
)
from runner.system.bounded_reading import read_bounded
from runner.system.caller_limits import exhausted
from runner.system.errors import DamagedRecord, StoreError
from runner.system.files import (
    FULL,
    PART,
    copy_durably,
    folder,
    make_directory,
    not_written,
    part_file,
    part_prefix,
    sync_directory,
    write_atomically,
    writing_errors,
)
from runner.system.owner import Fate, Owner
from runner.system.paths import component, portable

_LARGEST_PROBE = 2**20
LEDGER = "ledger.jsonl"
_AREAS = frozenset({"records", "references", "inputs", "probes", "logs", "tables", "slurm"})
# No runner takes so long to write a file. The age decides only where the owner cannot be judged from here.
_PART_AGE_SECONDS = 24 * 3600


@dataclass(frozen=True)
class Store:
    """The results under one directory. No folder is created before a file is written."""

    root: Path

    @property
    def records_directory(self) -> Path:
        """Where the records lie, one folder for each benchmark."""
        return self.root / "records"

    @property
    def tables_directory(self) -> Path:
        """Where the rendered pages lie, one folder for each profile."""
        return self.root / "tables"

    @property
    def ledger_path(self) -> Path:
        """Where the ledger lies. No link is followed.

        Raises:
            StoreError: it is a link.
        """
        return self.place(LEDGER)

    def log_path(self, launch: str) -> Path:
        """Where the stderr of a launch is kept."""
        return self.place("logs", f"{launch}.log")

    def place(self, *names: str) -> Path:
        """The path of these names below this folder. No link is followed, so written files stay in this folder.

        Raises:
            StoreError: a link lies on the way.
        """
        path = self.root
        for name in names:
            path /= component(name)
            if path.is_symlink():
                raise link_on_the_way(path)
        return path

    def require_writable(self) -> None:
        """Check that this directory can be written, before any work is done.

        Raises:
            StoreError: nothing can be written here.
        """
        path = self.root
        try:
            self.root.mkdir(parents=True, exist_ok=True)
            for path in self.folders():
                with tempfile.TemporaryFile(dir=path):
                    pass
        except OSError as error:
            if error.errno in FULL or exhausted(error):
                raise not_written(path, error) from error
            raise StoreError(
                what=f"the results directory {path} cannot be written",
                why=f"{error.strerror or error} (user id {os.getuid()})",
                fix="give another directory with --results, or make this one writable for that user",
            ) from error

    @contextlib.contextmanager
    def in_use(self) -> Iterator[None]:
        """Say, while it lasts, that a run needs the files of this directory.

        The directory itself is locked with flock(2), so that the lock ends with the run, after a crash too. A file system
        without such locks says nothing. Nor does a directory that is not there yet: no folder is made for it.
        """
        with contextlib.ExitStack() as held:
            with contextlib.suppress(OSError):
                descriptor = os.open(self.root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
                held.callback(os.close, descriptor)
                fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
            yield

    def is_in_use(self) -> bool:
        """Whether a run that goes on needs the files of this directory."""
        try:
            descriptor = os.open(self.root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except OSError:
            return False
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        except OSError:
            return False
        finally:
            os.close(descriptor)
        return False

    def folders(self) -> list[Path]:
        """Every existing folder that a run may write into.

        Raises:
            StoreError: one of them is a link.
            OSError: one of them cannot be read.
        """
        areas = [self.place(name) for name in sorted(_AREAS)]
        below = [
            self.place(area, entry.name)
            for area in ("records", "tables")
            for entry in folder(self.root / area)
            if portable(entry.name) and entry.is_dir()
        ]
        return [path for path in (self.root, *areas, *below) if path.is_dir()]

    def holds_only_results(self) -> bool:
        """Whether only results lie here, as far as this user can see.

        Such a directory may be given to this user.
        """
        try:
            names = {path.name for path in self.root.iterdir()}
        except OSError:
            return False
        return all(name in _AREAS or name.startswith((PART, "ledger.")) for name in names)

    def add(self, record: Record) -> Record:
        """Append a sealed record."""
        path = self.place("records", record.benchmark, f"{record.identifier}.json")
        with writing_errors(path), part_file(path, record_text(record)) as part:
            _rename_to_new(part, path)
        return record

    def records(self) -> list[Record]:
        """Every intact record, oldest first.

        Raises:
            DamagedRecord: a file under records/ is not a record, or was altered.
            ContradictoryRecord: the fields of a record cannot all be true.
            NewerRecord: a later version wrote one.
            StoreError: a file may not be read, or a folder under records/ is a link.
        """
        read = (_read_record(path) for path in self.record_files())
        return oldest_first(record for record in read if record is not None)

    def record_files(self) -> tuple[Path, ...]:
        """Every file that should be a record, without foreign files.

        Raises:
            StoreError: a folder cannot be read, or is a link, so its records would silently be missing.
        """
        return tuple(Path(entry.path) for entry in self._below_records() if not _is_foreign(entry))

    def foreign_files(self) -> tuple[Path, ...]:
        """The foreign entries beside the records: hidden files, empty files, links, pipes.

        The store leaves them alone.

        Raises:
            StoreError: as above.
        """
        return tuple(
            Path(entry.path)
            for entry in self._below_records()
            if _is_foreign(entry) and not entry.name.startswith(PART)
        )

    def _below_records(self) -> Iterator[os.DirEntry[str]]:
        directory = self.place("records")
        try:
            for benchmark in folder(directory):
                directory = Path(benchmark.path)
                if benchmark.is_symlink() and benchmark.is_dir():
                    raise link_on_the_way(directory)
                yield from (each for each in folder(directory) if each.name.endswith(".json"))
        except OSError as error:
            raise unreadable(directory, error) from error

    def damaged(self) -> tuple[Path, ...]:
        """Every file under records/ that was altered or cut off."""
        return tuple(path for path, fault in self.record_faults() if isinstance(fault, DamagedRecord))

    def record_faults(self) -> tuple[tuple[Path, StoreError], ...]:
        """Every file under records/ at which ``records`` would fail, each with the reason."""
        found: list[tuple[Path, StoreError]] = []
        try:
            for path in self.record_files():
                try:
                    _read_record(path)
                except StoreError as fault:
                    found.append((path, fault))
        except StoreError as fault:
            found.append((self.records_directory, fault))
        return tuple(found)

    def save_files(self, area: str, key: str, source: Path, *below: str) -> Path:
        """Keep the regular files of a directory as ``area/key``, complete or not at all; return their folder.

        ``below`` are names of folders in that one.

        Raises:
            NoSpace, StoreError: the files cannot be kept; none of them is left then.
        """
        target = self.place(area, key, *below)
        if target.is_dir():
            return target
        with writing_errors(target):
            make_directory(target.parent)
            with tempfile.TemporaryDirectory(dir=target.parent, prefix=part_prefix()) as part:
                copy = Path(part) / "copy"
                copy_durably(source, copy)
                try:
                    copy.rename(target)
                except OSError:
                    # Another runner has already kept the same content.
                    if not target.is_dir():
                        raise
                sync_directory(target.parent)
        return target

    def sweep(self) -> tuple[Path, ...]:
        """Remove the unfinished files of dead runners; return the removed paths.

        The unfinished files of a living runner stay. A file that cannot be judged from here (another machine or
        container) stays for a day. Nothing is created, and a file that cannot be removed is no failure.
        """
        removed = []
        for path in [
            *self.root.glob(f"{PART}*"),
            *self.root.glob(f"*/{PART}*"),
            *self.root.glob(f"*/*/{PART}*"),
        ]:
            owner = Owner.named_in(path.name)
            fate = Fate.UNKNOWN if owner is None else owner.fate
            with contextlib.suppress(OSError):
                if fate is Fate.ALIVE or (fate is Fate.UNKNOWN and _age_seconds(path) < _PART_AGE_SECONDS):
                    continue
                if path.is_dir() and not path.is_symlink():
                    shutil.rmtree(path)
                else:
                    path.unlink()
                removed.append(path)
        return tuple(removed)

    def files(self, area: str, key: str) -> Path | None:
        """The directory kept as ``area/key``, or None."""
        path = self.place(area, key)
        return path if path.is_dir() else None

    def read_probe(self, digest: str) -> dict[str, str | None] | None:
        """The versions that the first launch of an image printed, or None."""
        path = self._probe_path(digest)
        try:
            found = json.loads(read_bounded(path, _LARGEST_PROBE))
        except (OSError, ValueError, RecursionError):
            return None
        if not isinstance(found, dict) or not all(isinstance(each, str | None) for each in found.values()):
            return None
        return found

    def write_probe(self, digest: str, versions: Mapping[str, str | None]) -> None:
        """Keep the versions that an image printed."""
        write_atomically(self._probe_path(digest), json.dumps(versions, indent=1) + "\n")

    def _probe_path(self, digest: str) -> Path:
        return self.place("probes") / component(f"{digest.removeprefix('sha256:')}.json")


def newest_by_key(records: Iterable[Record]) -> dict[str, Record]:
    """The newest record of each content key (``records`` are oldest first)."""
    return {record.key: record for record in records}


def _rename_to_new(part: Path, path: Path) -> None:
    """Give ``part`` its name, never taking that name from another file."""
    try:
        path.hardlink_to(part)
    except FileExistsError as error:
        if path.read_bytes() != part.read_bytes():
            raise StoreError(
                what=f"there is another record {path} already",
                why="a record is never overwritten",
                fix="run the command again: a new record gets a new name",
            ) from error
    except OSError as error:
        if error.errno in FULL or exhausted(error):
            raise
        # A file system without hard links. Two records of one name need one key and one microsecond.
        part.replace(path)


def _age_seconds(path: Path) -> float:
    """The age of a file by the clock of its file system: a network share's clock may differ from this machine's."""
    with tempfile.TemporaryFile(dir=path.parent) as now:
        return os.fstat(now.fileno()).st_mtime - path.lstat().st_mtime


def _read_record(path: Path) -> Record | None:
    """The record in a file; None where the file has gone since it was listed."""
    try:
        return read_record(path)
    except FileNotFoundError:
        return None
    except SelfContradiction as error:
        raise contradictory(str(path), str(error)) from error
    except (OSError, ValueError) as error:
        if isinstance(error, OSError) and not says_no_record(error):
            raise unreadable(path, error) from error
        raise _damaged(path, str(error)) from error


def _is_foreign(entry: os.DirEntry[str]) -> bool:
    """Whether a file beside records is foreign, judged without reading it. An empty file holds nothing to lose."""
    if entry.name.startswith(".") or not entry.is_file(follow_symlinks=False):
        return True
    return entry.stat(follow_symlinks=False).st_size == 0


def link_on_the_way(path: Path) -> StoreError:
    """The error for a link at a place where the runner writes."""
    return StoreError(
        what=f"{path} is a link",
        why="no link in a results directory is followed, because its target could lie anywhere",
        fix="give the folder that it leads to with --results, or put a folder in its place",
    )


def _damaged(path: Path, why: str) -> DamagedRecord:
    return DamagedRecord(
        what=f"damaged record {path}",
        why=why,
        fix="restore the file from its source, or delete it: its cell will then be run again",
    )
