"""The store: an append-only directory of records, and the files that belong to them.

    records/<benchmark>/<id>.json    one record a file, written whole or not at all
    references/<key>/<case>/…        the reference outputs that gates compare with
    inputs/<key>/<case>/…            what the benchmark's own generator wrote
    probes/<digest>.json             the versions that an image's first launch printed
    logs/<launch>.log                an implementation's stderr
    tables/*.md                      rendered from the records, at any time again

A record is found by its content key, never by its file name; where a key has several records the newest counts.
"""

import json
import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from runner.errors import StoreError
from runner.record import Record, is_intact


@dataclass(frozen=True)
class Store:
    """The results under one directory. Nothing is created before something is written."""

    root: Path

    @property
    def records_directory(self) -> Path:
        """Where the records lie, a folder a benchmark."""
        return self.root / "records"

    @property
    def tables_directory(self) -> Path:
        """Where the rendered pages lie, a folder a profile."""
        return self.root / "tables"

    def log_path(self, launch: str) -> Path:
        """Where the stderr of a launch is kept."""
        return self.root / "logs" / f"{launch}.log"

    def require_writable(self) -> None:
        """Fail before any work is done, not after it.

        Raises:
            StoreError: nothing can be written here.
        """
        try:
            self.root.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=self.root):
                pass
        except OSError as error:
            raise StoreError(
                what=f"the results directory {self.root} cannot be written",
                why=f"{error.strerror or error} (user id {os.getuid()})",
                fix="give another directory with --results, or make this one writable for that user",
            ) from error

    def add(self, data: Mapping[str, Any]) -> Record:
        """Append a sealed record."""
        record = Record(data=data)
        write_atomically(
            self.records_directory / record.benchmark / f"{record.identifier}.json",
            json.dumps(data, indent=1, allow_nan=False, ensure_ascii=False) + "\n",
        )
        return record

    def records(self) -> list[Record]:
        """Every intact record, oldest first.

        Raises:
            StoreError: a file under records/ is not a record, or was altered.
        """
        found = [Record(data=_read_record(path)) for path in sorted(self.records_directory.glob("*/*.json"))]
        return sorted(found, key=lambda record: (record.data["created_at"], record.identifier))

    def save_files(self, area: str, key: str, source: Path) -> Path:
        """Keep a whole directory as ``area/key``, complete or not at all; returns where it lies."""
        target = self.root / area / key
        if target.is_dir():
            return target
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=target.parent, prefix=".part-") as part:
            copy = Path(part) / "copy"
            shutil.copytree(source, copy)
            try:
                copy.rename(target)
            except OSError:
                # Another runner was first with the same content.
                if not target.is_dir():
                    raise
        return target

    def files(self, area: str, key: str) -> Path | None:
        """The directory kept as ``area/key``, or None."""
        path = self.root / area / key
        return path if path.is_dir() else None

    def read_probe(self, digest: str) -> dict[str, str | None] | None:
        """What the first launch of an image printed of its versions, or None."""
        path = self._probe_path(digest)
        try:
            found = json.loads(path.read_text(encoding="utf-8"))
        except (FileNotFoundError, json.JSONDecodeError):
            return None
        return found if isinstance(found, dict) else None

    def write_probe(self, digest: str, versions: Mapping[str, str | None]) -> None:
        """Keep what an image printed of its versions."""
        write_atomically(self._probe_path(digest), json.dumps(versions, indent=1) + "\n")

    def _probe_path(self, digest: str) -> Path:
        return self.root / "probes" / f"{digest.removeprefix('sha256:')}.json"


def newest_by_key(records: Iterable[Record]) -> dict[str, Record]:
    """The newest record of each content key (``records`` are oldest first)."""
    return {record.key: record for record in records}


def write_atomically(path: Path, text: str) -> None:
    """Write ``text`` so that a reader sees the old file or the whole new one, after any crash too."""
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=".part-")
    temporary = Path(name)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        temporary.chmod(0o644)
        temporary.replace(path)
        _sync_directory(path.parent)
    finally:
        temporary.unlink(missing_ok=True)


def tree(directory: Path) -> Iterator[Path]:
    """Every regular file below ``directory``, sorted; links are not followed and not listed."""
    for path in sorted(directory.rglob("*")):
        if path.is_file() and not path.is_symlink():
            yield path


def _sync_directory(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _read_record(path: Path) -> dict[str, Any]:
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        intact = isinstance(data, dict) and is_intact(data)
    except (OSError, ValueError) as error:
        raise _damaged(path, str(error)) from error
    if not intact:
        raise _damaged(path, "its content does not match its own hash: it was altered or cut off")
    return data  # type: ignore[no-any-return]


def _damaged(path: Path, why: str) -> StoreError:
    return StoreError(
        what=f"damaged record {path}",
        why=why,
        fix="restore the file from where it came, or delete it: its cell will then be run again",
    )
