"""The files that a store keeps beside its records, which a run makes again. Records are included only on request."""

import re
import shutil
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from pathlib import Path

from runner.host.clean.item import Area, Item
from runner.records.ledger.file import append
from runner.records.ledger.lines import RemovedLine
from runner.records.store import Store
from runner.report.write import STAMP
from runner.system.files import folder, tree
from runner.system.scratch import abandoned_scratch

_KEY = re.compile(r"[0-9a-f]{64}")
_PAGE = re.compile(rf".+\.md|{re.escape(STAMP)}")
_RECORD = re.compile(r"[0-9]{8}T[0-9]{12}Z-[0-9a-f]{16}\.json")
# The content of each folder of a store, by name, and what its removal means for the user.
_CACHES: tuple[tuple[str, re.Pattern[str], str], ...] = (
    ("inputs", _KEY, "input files; made again by the next run"),
    ("references", _KEY, "reference outputs; a run with something to compare runs the references again"),
    (
        "probes",
        re.compile(r"[0-9a-f]{64}\.json"),
        "versions that images printed; asked again by the next run",
    ),
    ("logs", re.compile(r".+\.log"), "logs of launches and builds; not made again"),
)


def find_results(store: Store, *, records: bool) -> Area:
    """The caches of a store, and the leftovers of dead runners in the temporary directory.

    With ``records`` the records are included. Only names that a store gives are found, so a directory that is not a
    store loses nothing.
    """
    root = store.root
    caches = [_item(root, folder, pattern, what) for folder, pattern, what in _CACHES]
    stays = []
    if store.is_in_use() and any(caches):
        caches = []
        stays.append(f"the files beside the records in {root}, which a run needs that goes on")
    if not store.records_directory.is_dir() and not any(caches[:3]):
        # A folder of the user that only happens to have a sub-folder logs.
        caches = []
    found = [item for item in caches if item is not None]
    kept = _two_deep(store.records_directory, _RECORD)
    pages = _two_deep(store.tables_directory, _PAGE) if kept else []
    if records:
        if kept:
            found.append(_records(store, kept))
        if pages:
            found.append(_files("tables", pages))
    elif kept:
        stays.append(f"{len(kept)} records and their tables in {root} (clean --records removes them)")
    if store.ledger_path.is_file():
        stays.append(f"the ledger {store.ledger_path}, which says what was run here")
    scratch = abandoned_scratch()
    if scratch:
        found.append(
            Item(
                name="temporary directories of runners that are gone",
                count=len(scratch),
                size_bytes=sum(map(_size, scratch)),
                remove=partial(_remove, scratch),
            )
        )
    return Area(name="results", items=tuple(found), stays=tuple(stays))


def _two_deep(area: Path, pattern: re.Pattern[str]) -> list[Path]:
    """The files of these names in the folders of an area; no link is followed, to a folder or to a file."""
    return [
        Path(entry.path)
        for inner in folder(area)
        for entry in folder(Path(inner.path))
        if pattern.fullmatch(entry.name) and entry.is_file(follow_symlinks=False)
    ]


def _item(root: Path, folder: str, pattern: re.Pattern[str], what: str) -> Item | None:
    directory = root / folder
    if directory.is_symlink() or not directory.is_dir():
        return None
    paths = tuple(path for path in sorted(directory.iterdir()) if pattern.fullmatch(path.name))
    if not paths:
        return None
    return Item(
        name=f"{folder} ({what})",
        count=len(paths),
        size_bytes=sum(map(_size, paths)),
        remove=partial(_remove, paths),
    )


def _files(name: str, paths: Iterable[Path]) -> Item:
    paths = tuple(paths)
    return Item(
        name=name, count=len(paths), size_bytes=sum(map(_size, paths)), remove=partial(_remove, paths)
    )


def _records(store: Store, paths: Iterable[Path]) -> Item:
    """The records. The ledger says that they were removed, so that a publication can say it too."""
    item = _files("records", paths)

    def remove() -> str | None:
        if store.ledger_path.is_file():
            append(
                store.ledger_path,
                lambda previous, time: RemovedLine(previous=previous, time=time, records=item.count),
            )
        return item.remove()

    return replace(item, remove=remove)


def _remove(paths: Iterable[Path]) -> str | None:
    """Remove each file, and its folder if it is empty then. No link is followed."""
    remove: Callable[[Path], None]
    for path in paths:
        remove = shutil.rmtree if path.is_dir() and not path.is_symlink() else Path.unlink
        try:
            remove(path)
            if not any(path.parent.iterdir()):
                path.parent.rmdir()
        except FileNotFoundError:
            continue
        except OSError as error:
            return f"{path}: {error.strerror or error}"
    return None


def _size(path: Path) -> int:
    try:
        if path.is_dir() and not path.is_symlink():
            return sum(each.lstat().st_size for each in tree(path))
        return path.lstat().st_size
    except OSError:
        return 0
