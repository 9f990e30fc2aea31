"""Files that a user names: written whole or not at all, and never over what is no file."""

import os
import tempfile
from pathlib import Path

from runner.system.errors import UsageError


def write_output(path: Path, content: bytes) -> None:
    """Write ``content`` to ``path``; a file that is there is replaced at once, a device or a pipe is written into.

    Raises:
        UsageError: ``path`` is a folder, or its folder is not there.
        OSError: the system refuses; the old file is untouched then.
    """
    target = path.resolve()
    if target.is_dir() or not target.parent.is_dir():
        raise UsageError(
            what=f"{path} cannot be written",
            why="it is a folder" if target.is_dir() else f"there is no folder {target.parent}",
            fix="name a file in a folder that exists",
        )
    if target.exists() and not target.is_file():
        with target.open("wb") as file:
            file.write(content)
        return
    descriptor, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}-")
    part = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        part.chmod(target.stat().st_mode & 0o777 if target.exists() else 0o666 & ~_umask())
        part.replace(target)
    finally:
        part.unlink(missing_ok=True)


def _umask() -> int:
    """What this process takes from the mode of new files; it can only be read by setting it."""
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
