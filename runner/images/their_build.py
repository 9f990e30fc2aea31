"""The files of a competitor's image: hashed for its identity, and copied for its build.

A build reads exactly the hashed files: regular files and links of its context, with the hashed permissions. A build
never reads a checkout's history.
"""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from runner.matrix.images import TheirDockerfile, TheirImage
from runner.system.caller_limits import exhausted
from runner.system.errors import ImageBuildFailed
from runner.system.files import FULL
from runner.system.hashes import file_hash
from runner.system.scratch import scratch_directory
from runner.system.space import no_space

_LEFT_OUT = ".git"


@dataclass(frozen=True, kw_only=True)
class BuildFiles:
    """The two paths that a build is given."""

    dockerfile: Path
    context: Path


def inputs_of(source: TheirDockerfile | TheirImage) -> dict[str, Any]:
    """The hashes of all inputs to a build of ``source``, except the downloads of its steps.

    Raises:
        ImageBuildFailed: a file cannot be read.
    """
    if isinstance(source, TheirImage):
        return {"reference": source.reference}
    with _reading(source):
        return {
            "dockerfile": file_hash(source.dockerfile),
            "context": [_described(path, source.context) for path in _context(source.context)],
        }


@contextmanager
def build_files(source: TheirDockerfile | TheirImage) -> Iterator[BuildFiles]:
    """A copy of the files that `inputs_of` hashes, for one build.

    Raises:
        ImageBuildFailed: a file cannot be read.
        NoSpace: there is no room for the copy.
    """
    with scratch_directory("image") as temporary:
        files = BuildFiles(dockerfile=temporary / "Dockerfile", context=temporary / "context")
        files.context.mkdir()
        if isinstance(source, TheirImage):
            files.dockerfile.write_text(f"FROM {source.reference}\n", encoding="utf-8")
        else:
            with _reading(source):
                _copy(source, files)
        yield files


def _copy(source: TheirDockerfile, files: BuildFiles) -> None:
    shutil.copyfile(source.dockerfile, files.dockerfile)
    for path in _context(source.context):
        target = files.context / path.relative_to(source.context)
        target.parent.mkdir(parents=True, exist_ok=True)
        if path.is_symlink():
            target.symlink_to(path.readlink())
        else:
            shutil.copyfile(path, target)
            # A launch's user can read the files, under any umask of their checkout.
            target.chmod(0o755 if _is_executable(path) else 0o644)
    for folder in (files.context, *(path for path in files.context.rglob("*") if path.is_dir())):
        if not folder.is_symlink():
            folder.chmod(0o755)


def _context(folder: Path) -> Iterator[Path]:
    """The regular files and links below ``folder``, sorted; no link is followed."""
    for path in sorted(folder.rglob("*")):
        if _LEFT_OUT not in path.relative_to(folder).parts and (path.is_symlink() or path.is_file()):
            yield path


def _described(path: Path, context: Path) -> list[str]:
    name = os.fsencode(path.relative_to(context)).decode("utf-8", "backslashreplace")
    if path.is_symlink():
        return [name, "link", os.fsencode(path.readlink()).decode("utf-8", "backslashreplace")]
    return [name, "x" if _is_executable(path) else "-", file_hash(path)]


def _is_executable(path: Path) -> bool:
    return bool(path.stat().st_mode & 0o100)


@contextmanager
def _reading(source: TheirDockerfile) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if error.errno in FULL:
            raise no_space("what an image is built from could not be copied", str(error.strerror)) from error
        if limited := exhausted(error):
            raise limited from error
        raise ImageBuildFailed(
            what=f"what {source.dockerfile} is built from cannot be read",
            why=f"{error.filename}: {error.strerror}",
            fix=f"see that every file below {source.context} can be read",
        ) from error
