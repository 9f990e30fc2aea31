"""The keeper: a second container beside a launch's, which holds the volumes of its inputs and outputs.

It runs only ``sleep``, in an image that has it, because the launch's image need not hold another program. When the
launch has ended well, trusted programs of that image examine the outputs. It is held to a CPU that the launch does not
have. The keeper gives the launch its inputs read-only, although the daemon writes them.
It also gives the launch a bounded output directory. This directory is a file system in memory, whose size and number of
files the kernel bounds. No bound on an anonymous volume on the daemon's disk works everywhere. A stopped container
loses a temporary file system of its own; the keeper's stays while the keeper lives. Its pages count within the memory
limit of the launch that wrote them, like the page cache of written files.
"""

import contextlib
import io
import shutil
import stat
import tarfile
import uuid
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future
from pathlib import Path, PurePosixPath
from typing import Any

import requests
from docker.models.containers import Container
from docker.types import DriverConfig, Mount

import docker
from runner.executors.base import Examination
from runner.executors.container_command import run_in
from runner.executors.containers import USER, Removal, create_container, require_environment
from runner.executors.outputs import MOST_FILES, Intake, empty, most_bytes
from runner.matrix import Limits
from runner.records.failure import Failure, FailureKind
from runner.system.bounded_archive import BoundedTarInfo
from runner.system.errors import DockerUnavailable
from runner.system.files import tree
from runner.system.meanwhile import meanwhile
from runner.system.printable import one_line
from runner.system.signals import uninterrupted

INPUTS, OUTPUTS = "/inputs", "/outputs"
_SLEEP = ("sleep", "infinity")
_LIMITS = Limits(name="keeper", cpus=1, memory_bytes=128 * 2**20, pids=32, threads=1)
# The folder itself counts as a file.
_INODES = MOST_FILES + 2
# What daemons answer of a program that they could not start. No program of the keeper's image ends with these.
_NOT_STARTED = (125, 126, 127)
_LONGEST = 300


class Keeper:
    """A keeper that is being started. ``mounts`` are those of the launch."""

    def __init__(self, container: Container, limits: Limits, starting: "Future[None]") -> None:
        self._container = container
        self._starting = starting
        self._most_bytes = most_bytes(limits)
        volumes = {mount["Destination"]: mount["Name"] for mount in container.attrs["Mounts"]}
        self.mounts: Sequence[Mount] = tuple(
            Mount(target=target, source=volume, type="volume", read_only=target == INPUTS, no_copy=True)
            for target, volume in volumes.items()
        )

    def started(self) -> None:
        """Return when it runs.

        Raises:
            docker.errors.APIError: the daemon does not start it.
        """
        self._starting.result()

    def fill(self, directory: Path) -> None:
        """Put the files of ``directory`` where the launch finds its inputs."""
        self._container.put_archive(INPUTS, _pack(directory))

    def full(self) -> Failure | None:
        """The limit of its output directory that the launch reached, or None.

        The daemon's archive tells, because an image need not hold a program that could count files.
        """
        intake = Intake(self._most_bytes)
        with contextlib.suppress(tarfile.TarError), _archive(self._container, OUTPUTS) as entries:
            for entry in entries:
                # The first entry is the folder itself.
                if PurePosixPath(entry.name).parts[1:]:
                    overfull = intake.overfull(_type(entry), entry.size)
                    if overfull is not None:
                        return overfull
        return None

    def examine(self, command: Sequence[str]) -> Examination:
        """Run a program of this keeper's image on the launch's output files.

        Raises:
            DockerUnavailable: the daemon did not start it, so it says nothing about the outputs.
        """
        client: Any = self._container.client
        api = client.api
        printed = run_in(api, str(self._container.id), command)
        ended = api.exec_inspect(printed.identifier)
        if ended["Running"]:
            raise requests.ConnectionError("the output of a program in the keeper ended before the program")
        code = ended["ExitCode"]
        texts = [each.decode("utf-8", "replace") for each in (printed.stdout, printed.stderr)]
        if code in _NOT_STARTED:
            raise DockerUnavailable(
                what=f"the Docker daemon could not start '{command[0]}' beside a launch",
                why=one_line("".join(texts), _LONGEST) or f"it answered with exit code {code}",
                fix="see what the daemon's machine runs out of (docker info; journalctl -k), then run again: finished "
                "cells are stored",
            )
        return Examination(exit_code=code, stdout=texts[0], stderr=texts[1])

    def fetch(self, directory: Path) -> Failure | None:
        """Unpack the launch's output files into ``directory``; or leave it empty and return why they are refused.

        Raises:
            OSError: this machine cannot take it.
        """
        intake = Intake(self._most_bytes)
        refused = None
        try:
            with _archive(self._container, OUTPUTS) as entries:
                for entry in entries:
                    # The first part is the folder itself.
                    parts = PurePosixPath(entry.name).parts[1:]
                    if not parts:
                        continue
                    refused = intake.refuse(parts, _type(entry), entry.size, entry.linkname)
                    if refused is not None:
                        break
                    if entry.isfile():
                        _write(entries, entry, directory.joinpath(*parts))
        except (tarfile.TarError, FileExistsError, NotADirectoryError) as error:
            refused = Failure(kind=FailureKind.UNREADABLE_OUTPUT, detail=f"the daemon's archive: {error}")
        self._container.reload()
        if self._container.status != "running":
            # The daemon then mounts an empty new volume for this call; the launch is not at fault.
            refused = Failure(
                kind=FailureKind.LOST, detail="its keeper was killed, and its output files were lost with it"
            )
        if refused is not None:
            empty(directory)
        return refused


@contextlib.contextmanager
def keeper(
    client: docker.DockerClient,
    *,
    image: str,
    of_image: Sequence[str],
    labels: Mapping[str, str],
    limits: Limits,
    cpuset: str | None,
    inputs: bool,
) -> Iterator[Keeper]:
    """A keeper for one launch; it must outlive the launch's container, which uses its volumes.

    Args:
        client: the daemon.
        image: whose ``sleep`` it runs.
        of_image: the variables of the image.
        labels: the labels that tell this runner's containers and volumes from others.
        limits: the launch's limits, which bound its output directory.
        cpuset: the CPU that the keeper is held to; None where the launch has every usable CPU.
        inputs: whether there are inputs.

    Raises:
        docker.errors.APIError: the daemon refuses it.
    """
    size = f"size={most_bytes(limits)},nr_inodes={_INODES},mode=1777,nosuid,nodev,noexec"
    mounts = [
        Mount(
            target=OUTPUTS,
            source=None,
            type="volume",
            no_copy=True,
            labels=dict(labels),
            driver_config=DriverConfig("local", {"type": "tmpfs", "device": "tmpfs", "o": size}),
        )
    ]
    if inputs:
        mounts.append(Mount(target=INPUTS, source=None, type="volume", labels=dict(labels)))
    removal: Removal | None = None
    try:
        # An interrupt during this block waits until the container's id is known for the removal.
        with uninterrupted():
            container = create_container(
                client,
                image=image,
                command=_SLEEP,
                name=f"forge-bench-keeper-{uuid.uuid4().hex[:8]}",
                labels=labels,
                limits=_LIMITS,
                cpuset=cpuset,
                mounts=mounts,
                environment={},
            )
            removal = Removal(container)
        require_environment(container, of_image, {})
        yield Keeper(container, limits, meanwhile(container.start))
    finally:
        if removal is not None:
            removal.finish()


def _pack(directory: Path) -> bytes:
    """The directory as a tar archive that belongs to the container's user."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for path in tree(directory):
            entry = archive.gettarinfo(path, arcname=str(path.relative_to(directory)))
            entry.uid = entry.gid = USER
            entry.uname = entry.gname = ""
            entry.mode = 0o444
            with path.open("rb") as file:
                archive.addfile(entry, file)
    return buffer.getvalue()


@contextlib.contextmanager
def _archive(container: Container, path: str) -> Iterator[tarfile.TarFile]:
    """The daemon's archive of a folder, as a stream that need not be read to its end."""
    chunks: Any
    chunks, _ = container.get_archive(path)
    try:
        with tarfile.open(fileobj=_Chunks(chunks), mode="r|", tarinfo=BoundedTarInfo) as archive:
            yield archive
    finally:
        # The daemon holds the container's lock until the client has read the whole archive or disconnects.
        chunks.close()


def _type(entry: tarfile.TarInfo) -> int:
    """An entry's type, in the form of ``st_mode``. A hard link to another entry counts as a link."""
    if entry.isfile():
        return stat.S_IFREG
    if entry.isdir():
        return stat.S_IFDIR
    if entry.issym() or entry.islnk():
        return stat.S_IFLNK
    if entry.isfifo():
        return stat.S_IFIFO
    return stat.S_IFBLK if entry.isblk() else stat.S_IFCHR


def _write(archive: tarfile.TarFile, entry: tarfile.TarInfo, target: Path) -> None:
    source = archive.extractfile(entry)
    if source is None:
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    with target.open("xb") as file:
        shutil.copyfileobj(source, file, 2**20)


class _Chunks(io.RawIOBase):
    """A stream of byte chunks as a file."""

    def __init__(self, chunks: Iterator[bytes]) -> None:
        super().__init__()
        self._chunks = chunks
        self._rest = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._rest:
            try:
                self._rest = next(self._chunks)
            except StopIteration:
                return 0
        count = min(len(buffer), len(self._rest))
        buffer[:count] = self._rest[:count]
        self._rest = self._rest[count:]
        return count
