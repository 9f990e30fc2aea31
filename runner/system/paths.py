"""Names that become files and directories: which names stay inside their folder on every system."""

import re
from collections.abc import Iterable
from pathlib import Path

from runner.system.errors import StoreError, UsageError

# ASCII alone: it has no look-alikes, and no file system stores it in another form.
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
    """``name``, checked where a path is made from it.

    Raises:
        StoreError: a path made from the name could lead elsewhere.
    """
    if not portable(name):
        raise StoreError(
            what=f"{name[:80]!r} cannot be the name of a file",
            why="a file name holds only ASCII letters, digits and = . _ - and begins with a letter or digit",
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
            fix="check where its links point (ls -l), and name a file or a folder",
        ) from error


def clashing(names: Iterable[str]) -> list[tuple[str, str]]:
    """Pairs of names that are one file on a system that ignores case, such as macOS."""
    seen: dict[str, str] = {}
    found = []
    for name in names:
        first = seen.setdefault(name.casefold(), name)
        if first != name:
            found.append((first, name))
    return found
