"""The pins, verified by execution: the first launch of an image must print the versions that the matrix pins."""

import json
import shlex
from typing import Any

from runner.executors.base import Executor, LaunchRequest
from runner.matrix.images import CORE, ImageTarget
from runner.planning.cells import Cell
from runner.records.image import ImageFacts
from runner.records.store import Store
from runner.system.errors import PinMismatch
from runner.system.printable import one_line

_DEADLINE_SECONDS = 600
_MOST_VERSIONS, _LONGEST = 100, 200
_LONGEST_ANSWER = 2**16


def verified_software(
    target: ImageTarget, cell: Cell, *, image: ImageFacts, executor: Executor, store: Store
) -> dict[str, str | None]:
    """The versions inside the image, asked once for each image, on the platform and under the limits of ``cell``.

    An image whose target has no versions command has one version, its own, which is unknown.

    Raises:
        PinMismatch: the image cannot print its versions, or holds another version than the toolchain pins.
    """
    # A host, or the image around this process, is not an image of the target.
    asked = target if image.target == target.name else CORE
    if asked.versions is None:
        return {asked.name: None}
    digest = image.config_digest
    software = store.read_probe(digest) if digest else None
    if software is None:
        software = _ask(asked.versions, cell, image, executor)
        if digest and software is not None:
            store.write_probe(digest, software)
    if image.identity is None:
        # A bare host pins nothing. A version that it cannot print stays unknown.
        return software or {}
    if software is None:
        raise PinMismatch(
            what=f"the {image.target} image for {image.architecture} cannot say which versions it holds",
            why="the command that asks for them failed in a container of it",
            fix=f"run it by hand: {shlex.join(asked.versions)}",
        )
    _check(asked, cell, software)
    return software


class _Said:
    """What an image prints, as far as versions may go."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._length = 0

    @property
    def text(self) -> str:
        return "" if self._length > _LONGEST_ANSWER else "\n".join(self._lines)

    def take(self, line: str) -> None:
        self._length += len(line) + 1
        if self._length <= _LONGEST_ANSWER:
            self._lines.append(line)


def _ask(
    command: tuple[str, ...], cell: Cell, image: ImageFacts, executor: Executor
) -> dict[str, str | None] | None:
    said = _Said()
    result = executor.launch(
        LaunchRequest(
            name="versions",
            image=image,
            platform=cell.platform,
            command=command,
            limits=cell.limits,
            deadline_seconds=_DEADLINE_SECONDS,
            input_directory=None,
            output_directory=None,
            on_line=lambda line, _: said.take(line),
        )
    )
    return _versions(said.text) if result.exit_code == 0 else None


def _versions(text: str) -> dict[str, str | None] | None:
    """``{"python": "3.13.5", ...}`` as an image printed it; None where it is anything else."""
    try:
        found: Any = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(found, dict) or len(found) > _MOST_VERSIONS:
        return None
    # Every record and a page hold these texts.
    if not all(isinstance(value, str | None) for value in found.values()):
        return None
    return {
        one_line(key, _LONGEST): None if value is None else one_line(value, _LONGEST)
        for key, value in found.items()
    }


def _check(target: ImageTarget, cell: Cell, software: dict[str, str | None]) -> None:
    toolchain = cell.toolchain
    pins = {name: str(getattr(toolchain, pin)) for name, pin in target.pins}
    wrong = [
        f"{name} is {software.get(name) or 'absent'}, pinned {pin}"
        for name, pin in pins.items()
        # A local part such as +debian or +cpu names the build, not the release.
        if (software.get(name) or "").partition("+")[0] != pin
    ]
    if wrong:
        raise PinMismatch(
            what=f"the image of toolchain {toolchain.name} does not hold what the matrix pins",
            why="; ".join(wrong),
            fix=f"set toolchains.{toolchain.name} in the matrix to the served versions, or correct the image",
        )
