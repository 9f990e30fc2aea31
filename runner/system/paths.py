"""Names that become files and directories: what a name may be so that it stays where it is put, on every system."""

import re
from collections.abc import Iterable
from pathlib import Path

from runner.system.errors import StoreError, UsageError

# ASCII alone: no look-alikes, no text that a file system stores in another form than it was given.
_COMPONENT = re.compile(r"[A-Za-z0-9][A-Za-z0-9=._-]{0,199}\Z")
_DEVICES = frozenset(
    {"con", "prn", "aux", "nul", *(f"{port}{n}" for port in ("com", "lpt") for n in range(1, 10))}
)


def portable(name: str) -> bool:
    """Whether ``name`` is one component of a path, and means the same on Linux, macOS and Windows."""
    if _COMPONENT.match(name) is None or name.endswith("."):
        return False
    return name.partition(".")[0].lower() not in _DEVICES


def component(name: str) -> str:
    """``name``, at the place where a path is made of it.

    Raises:
        StoreError: it could lead elsewhere.
    """
    if not portable(name):
        raise StoreError(
            what=f"{name[:80]!r} cannot be the name of a file",
            why="names of files are letters, digits and = . _ - of ASCII, and begin with a letter or digit",
            fix="find out where this name comes from: neither a matrix nor a record that passed its checks has one",
        )
    return name


def resolved(path: Path) -> Path:
    """``path`` from the root on, with every link followed.

    Raises:
        UsageError: a link on the way leads back to itself.
    """
    try:
        return path.resolve()
    # Python before 3.13 calls a circle of links a runtime error.
    except (RuntimeError, OSError) as error:
        raise UsageError(
            what=f"{path} leads nowhere",
            why=f"a link in it cannot be followed: {error}",
            fix="see where its links point (ls -l), and name a file or a folder",
        ) from error


def clashing(names: Iterable[str]) -> list[tuple[str, str]]:
    """Pairs of names that are one file where letters' case makes no difference, as on macOS."""
    seen: dict[str, str] = {}
    found = []
    for name in names:
        first = seen.setdefault(name.casefold(), name)
        if first != name:
            found.append((first, name))
    return found
