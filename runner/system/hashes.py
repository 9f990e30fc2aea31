"""SHA-256 of files, by their path below a directory."""

import hashlib
import os
from pathlib import Path

from runner.system.files import tree


def file_hashes(directory: Path) -> dict[str, str]:
    """``{"case/file": hex digest}`` of every regular file below ``directory``.

    A file system accepts any bytes in a name. Bytes that are not text are written as escapes.
    """
    return {_spelt(path.relative_to(directory)): file_hash(path) for path in tree(directory)}


def file_hash(path: Path) -> str:
    """The hex digest of one file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _spelt(path: Path) -> str:
    return os.fsencode(path).decode("utf-8", "backslashreplace")
