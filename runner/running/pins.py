"""The pins, verified by execution: the first launch of an image must print the versions that the matrix pins."""

import json
import shlex
from typing import Any

from runner.executors.base import Executor, LaunchRequest, LaunchResult
from runner.matrix.images import CORE, ImageTarget
from runner.planning.cells import Cell
from runner.records.failure import Failure, FailureKind
from runner.records.image import ImageFacts
from runner.records.store import Store
from runner.system.errors import PinMismatch
from runner.system.printable import one_line
from runner.system.signals import signal_name

DEADLINE_SECONDS = 600
_MOST_VERSIONS, _LONGEST = 100, 200
_LONGEST_ANSWER = 2**16
# Of what a command printed, so much stands in a message.
_SHOWN_LINES, _LONGEST_SHOWN = 5, 500


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
        try:
            software = _ask(asked.versions, cell, image, executor)
        except _NoVersions as silent:
            if image.identity is None:
                # A bare host pins nothing. A version that it cannot print stays unknown.
                return {}
            raise PinMismatch(
                what=f"the {image.target} image for {image.architecture} cannot say which versions it holds",
                why=str(silent),
                fix=f"run it by hand: {shlex.join(asked.versions)}",
            ) from None
        if digest:
            store.write_probe(digest, software)
    if image.identity is not None:
        _check(asked, cell, software)
    return software


class _NoVersions(Exception):
    """An image printed no versions; the message says how the command ended."""


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
) -> dict[str, str | None]:
    """The versions that ``command`` prints in a container of the image.

    Raises:
        _NoVersions: it prints none.
    """
    said = _Said()
    result = executor.launch(
        LaunchRequest(
            name="versions",
            image=image,
            platform=cell.platform,
            command=command,
            limits=cell.limits,
            deadline_seconds=DEADLINE_SECONDS,
            input_directory=None,
            output_directory=None,
            on_line=lambda line, _: said.take(line),
        )
    )
    if result.failure is not None:
        raise _NoVersions(_ending(result, result.failure))
    versions = _versions(said.text)
    if versions is None:
        raise _NoVersions(
            f"the command that asks for them printed no JSON object of versions; it printed: {_shown(said.text)}"
        )
    return versions


def _ending(result: LaunchResult, failure: Failure) -> str:
    """Why the command did not succeed, with the last lines of its stderr."""
    if failure.kind is FailureKind.NOT_STARTED:
        return f"a container of it did not start: {one_line(failure.detail, _LONGEST_SHOWN)}"
    if result.stopped is not None or result.refused is not None or result.out_of_memory:
        ending = one_line(failure.detail, _LONGEST_SHOWN)
    elif result.exit_code is not None and result.exit_code >= 0:
        ending = f"exit code {result.exit_code}"
    else:
        ending = f"ended by {signal_name(-(result.exit_code or 0))}"
    last = [line for line in result.stderr.splitlines() if line.strip()][-_SHOWN_LINES:]
    return (
        f"the command that asks for them failed in a container of it: {ending}; "
        f"the end of its stderr: {_shown(' / '.join(last))}"
    )


def _shown(text: str) -> str:
    return one_line(text, _LONGEST_SHOWN) or "nothing"


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
