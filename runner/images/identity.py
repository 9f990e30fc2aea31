"""The identity of an image, known before its build: the hash of all its files, pins and packages."""

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from itertools import product
from pathlib import Path
from typing import Any

from runner.images.lock import read_lock
from runner.images.spec import ImageSpec
from runner.images.their_build import inputs_of
from runner.matrix.images import ImageTarget, Stage
from runner.matrix.toolchain import ARCHITECTURES, Toolchain
from runner.records.record import content_hash
from runner.system.errors import ImageNotFound

# The files that an implementation executes, and the files that only the runner inside the image reads.
EXECUTED = (".dockerignore", "docker", "rust", "baselines")
READ_BY_THE_RUNNER = ("runner", "templates", "matrix.yaml", "pyproject.toml", "uv.lock", "LICENSE")
# Never part of the build context: .dockerignore says the same. Cargo's folder goes by its path, because
# a Rust module may well be called target.
_CACHES = frozenset({"__pycache__", ".venv", ".pytest_cache", ".mypy_cache", ".ruff_cache", ".hypothesis"})
_CARGO_TARGET = "rust/target"
# For people alone: editing them runs nothing again.
DOCUMENTS = ("rust/ARCHITECTURE.md", "rust/README.md", "baselines/README.md")
# A lock counts by its packages, and only for its own toolchain.
_LOCKS = "docker/lock"


@dataclass(frozen=True)
class Identity:
    """``identity`` is over every input; ``execution_hash`` over those that decide what a launch computes."""

    identity: str
    execution_hash: str


def execution_hash_of(target: ImageTarget, toolchain: Toolchain, architecture: str, root: Path) -> str:
    """The execution hash of one image; raises what `identify` raises."""
    spec = ImageSpec(target=target, architecture=architecture, toolchain=toolchain)
    return identify(spec, root).execution_hash


def identify(spec: ImageSpec, root: Path) -> Identity:
    """The identity of the image that ``spec`` would give, from its files as they are now.

    Args:
        spec: the image. The target of a competitor's image names its files.
        root: the checkout, from which ours are built.

    Raises:
        ImageBuildFailed: a file of a competitor's image cannot be read.
        ImageNotFound: nothing says what the image would be built from.
    """
    asked = _asked(spec)
    source = spec.target.source
    if source is None:
        raise ImageNotFound(
            what=f"nothing here says what the image {spec.target.name} is built from",
            why="it is a competitor's image, which a record names and its matrix described",
            fix="give the image itself: --image DIGEST, FILE or REGISTRY/REPOSITORY@sha256:…, with --executor docker",
        )
    if isinstance(source, Stage):
        executed = {"spec": asked, "files": _hashes(root, EXECUTED), "packages": _packages(spec, root)}
        more: dict[str, Any] = {"runner": _hashes(root, READ_BY_THE_RUNNER)}
    else:
        executed = {"spec": asked, **inputs_of(source)}
        # A new versions command runs no cell again, but the versions are asked again.
        more = {"versions": spec.target.versions}
    return Identity(identity=content_hash({**executed, **more}), execution_hash=content_hash(executed))


def _asked(spec: ImageSpec) -> dict[str, Any]:
    toolchain = asdict(spec.toolchain)
    # What is installed counts, not where it came from: that is in the locks.
    for name in ("snapshot", "archive"):
        del toolchain[name]
    return {"target": spec.target.name, "architecture": spec.architecture, "toolchain": toolchain}


def _packages(spec: ImageSpec, root: Path) -> dict[str, list[str]]:
    """The locked packages of the image, and of what builds it on either architecture."""
    wanted = [
        *((kind, spec.architecture) for kind in spec.target.packages),
        *product(spec.target.builders, ARCHITECTURES),
    ]
    locks = {each: read_lock(root, spec.toolchain.name, *each) for each in wanted}
    return {
        "-".join(each): [f"{one.name} {one.version} {one.architecture} {one.sha256}" for one in lock.packages]
        for each, lock in locks.items()
        if lock is not None
    }


def _hashes(root: Path, names: Iterable[str]) -> list[list[str]]:
    found = []
    for path in sorted(file for name in names for file in _files(root / name, root)):
        mode = "x" if path.stat().st_mode & 0o100 else "-"
        found.append([path.relative_to(root).as_posix(), mode, hashlib.sha256(path.read_bytes()).hexdigest()])
    return found


def _files(path: Path, root: Path) -> Iterator[Path]:
    if path.is_file():
        if path.relative_to(root).as_posix() not in DOCUMENTS:
            yield path
    elif path.is_dir() and path.name not in _CACHES and path not in (root / _CARGO_TARGET, root / _LOCKS):
        for child in path.iterdir():
            yield from _files(child, root)
