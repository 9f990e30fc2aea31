"""The rules for a launch's output directory: a bounded number of bounded plain files in plain folders.

Both executors use them, for entries of a directory or of an archive.
"""

import contextlib
import os
import shutil
import stat
import subprocess
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from runner.matrix import Limits
from runner.records.failure import Failure, FailureKind
from runner.system.paths import portable
from runner.system.printable import one_line

MOST_FILES = 10_000
_MOST_BYTES = 2**30
_PAGE = 4096
# case/file, and room for folders of the implementation's own.
_DEEPEST = 8
_LONGEST_NAME = 200


def most_bytes(limits: Limits) -> int:
    """The size of the output directory. In a container it counts as the launch's memory, and may take half of it."""
    return min(_MOST_BYTES, limits.memory_bytes // 2)


class Intake:
    """Checks the entries in turn. The first refused entry makes the whole directory refused."""

    def __init__(self, most_bytes: int) -> None:
        self._most_bytes = most_bytes
        self._bytes = 0
        self._files = 0
        # The paths as a file system stores them that ignores case.
        self._seen: dict[str, str] = {}

    def refuse(self, parts: Sequence[str], mode: int, size: int, link: str = "") -> Failure | None:
        """Why an entry is refused, or None.

        Args:
            parts: its path below the output directory.
            mode: its type, as ``st_mode`` has it.
            size: bytes of a file's content, holes included.
            link: where a link points.
        """
        # An implementation may choose any bytes for names and targets.
        name = one_line("/".join(parts), _LONGEST_NAME)
        if stat.S_ISLNK(mode):
            return _forbidden(f"{name} is a link to {one_line(link, _LONGEST_NAME)}")
        if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
            return _forbidden(f"{name} is neither a file nor a folder ({stat.filemode(mode)})")
        if len(parts) > _DEEPEST:
            return _forbidden(f"a folder in a folder, more than {_DEEPEST} deep: {name}")
        if not all(portable(part) for part in parts):
            return _forbidden(f"the name {name!a}")
        key = "/".join(parts).casefold()
        if key in self._seen:
            return _forbidden(f"{self._seen[key]} and {name} are one file, here or on another system")
        self._seen[key] = name
        return self.overfull(mode, size)

    def overfull(self, mode: int, size: int) -> Failure | None:
        """Why the directory has no room for the entry, or None."""
        self._files += 1
        if self._files > MOST_FILES:
            return too_many_files()
        # A file uses whole pages. When the pages fill the directory, the next byte did not fit.
        self._bytes += -(-size // _PAGE) * _PAGE if stat.S_ISREG(mode) else 0
        return too_large(self._most_bytes) if self._bytes >= self._most_bytes else None


def too_many_files() -> Failure:
    """The failure of a launch that wrote too many files."""
    return Failure(kind=FailureKind.TOO_MANY_FILES, detail=f"wrote {MOST_FILES} files and folders, and more")


def too_large(most_bytes: int) -> Failure:
    """The failure of a launch that wrote more than the output directory holds."""
    return Failure(
        kind=FailureKind.TOO_LARGE_OUTPUT,
        detail=f"wrote {most_bytes // 2**20} MiB into the output directory, and more",
    )


def refuse_directory(directory: Path, most_bytes: int) -> Failure | None:
    """Why the content of ``directory`` is refused, or None. No link is followed."""
    intake = Intake(most_bytes)
    unreadable: list[Path] = []
    for path, status in _entries(directory, unreadable.append):
        link = ""
        if stat.S_ISLNK(status.st_mode):
            with contextlib.suppress(OSError):
                link = str(path.readlink())
        refused = intake.refuse(path.relative_to(directory).parts, status.st_mode, status.st_size, link)
        if refused is not None:
            return refused
        if stat.S_ISREG(status.st_mode) and not os.access(path, os.R_OK):
            unreadable.append(path)
    if unreadable:
        name = one_line(str(unreadable[0].relative_to(directory)), _LONGEST_NAME)
        detail = f"{name} may not be read, with the rights that it was given"
        return Failure(kind=FailureKind.UNREADABLE_OUTPUT, detail=detail)
    return None


def overfull_directory(directory: Path, most_bytes: int) -> Failure | None:
    """Whether ``directory`` holds too much at this moment. Its entries are not checked otherwise."""
    intake = Intake(most_bytes)
    for _, status in _entries(directory, lambda _: None):
        overfull = intake.overfull(status.st_mode, status.st_size)
        if overfull is not None:
            return overfull
    return None


def empty(directory: Path) -> None:
    """Remove everything below ``directory``, at any depth, with any modes, even while processes write there."""
    for child in list(directory.iterdir()):
        if child.is_dir() and not child.is_symlink():
            with contextlib.suppress(OSError, RecursionError):
                shutil.rmtree(child)
            if child.exists():
                # Python's own function fails on folders that are nested thousands deep or may not be entered.
                subprocess.run(["chmod", "-R", "u+rwX", "--", child], check=False, capture_output=True)
                subprocess.run(["rm", "-rf", "--", child], check=False, capture_output=True)
        else:
            child.unlink(missing_ok=True)


def _entries(directory: Path, unreadable: Callable[[Path], None]) -> Iterator[tuple[Path, os.stat_result]]:
    """The entries below a directory. A folder that cannot be listed is handed to ``unreadable``."""
    waiting = [directory]
    while waiting:
        folder = waiting.pop()
        try:
            with os.scandir(folder) as found:
                for entry in found:
                    try:
                        status = entry.stat(follow_symlinks=False)
                    except FileNotFoundError:
                        continue
                    except OSError:
                        unreadable(folder)
                        continue
                    yield Path(entry.path), status
                    if stat.S_ISDIR(status.st_mode):
                        waiting.append(Path(entry.path))
        except FileNotFoundError:
            continue
        except OSError:
            unreadable(folder)


def _forbidden(detail: str) -> Failure:
    return Failure(kind=FailureKind.FORBIDDEN_OUTPUT, detail=detail)
