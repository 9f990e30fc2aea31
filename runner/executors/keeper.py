"""The keeper: a second container beside a launch's, which holds the volumes of its inputs and outputs.

It runs nothing but a sleep, in an image that has one: the launch's own need not hold any program but the one that is
launched. Through it the launch gets its
inputs read-only, though the daemon writes them, and an output directory with an end: a file system in memory whose
size and number of files the kernel bounds. An anonymous volume on the daemon's disk has no bound at all that works
everywhere, and what a stopped container had in a temporary file system of its own is gone; this one stays while the
keeper lives. Its pages count to the launch that wrote them, inside its memory limit, as the page cache of written
files does too.
"""

import contextlib
import io
import shutil
import stat
import tarfile
import uuid
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any

from docker.models.containers import Container
from docker.types import DriverConfig, Mount

import docker
from runner.daemon.connection import BROKEN_CONNECTION
from runner.executors.containers import USER, create_container
from runner.executors.outputs import MOST_FILES, Intake, empty, most_bytes
from runner.matrix import Limits
from runner.records.failure import Failure, FailureKind
from runner.system.files import tree
from runner.system.signals import uninterrupted

INPUTS, OUTPUTS = "/inputs", "/outputs"
_SLEEP = ("sleep", "infinity")
_LIMITS = Limits(name="keeper", cpus=1, memory_bytes=128 * 2**20, pids=32, threads=1)
# The folder itself takes a place among the files.
_INODES = MOST_FILES + 2


class Keeper:
    """A running keeper. ``mounts`` are those of the launch."""

    def __init__(self, container: Container, limits: Limits) -> None:
        self._container = container
        self._most_bytes = most_bytes(limits)
        container.reload()
        volumes = {mount["Destination"]: mount["Name"] for mount in container.attrs["Mounts"]}
        self.mounts: Sequence[Mount] = tuple(
            Mount(target=target, source=volume, type="volume", read_only=target == INPUTS, no_copy=True)
            for target, volume in volumes.items()
        )

    def fill(self, directory: Path) -> None:
        """Put the files of ``directory`` where the launch finds its inputs."""
        self._container.put_archive(INPUTS, _pack(directory))

    def full(self) -> Failure | None:
        """Whether the launch met an end of its output directory, and which.

        Told from the daemon's archive, as everything here: an image need not hold a program that could say.
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

    def fetch(self, directory: Path) -> Failure | None:
        """Unpack what the launch wrote into ``directory``; or leave that empty and say why it is refused.

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
            # The daemon mounts the volume anew for us then, and it is empty: nothing of that is the launch's doing.
            refused = Failure(
                kind=FailureKind.LOST, detail="its keeper was killed, and what it wrote went with it"
            )
        if refused is not None:
            empty(directory)
        return refused


@contextlib.contextmanager
def keeper(
    client: docker.DockerClient,
    *,
    image: str,
    labels: Mapping[str, str],
    limits: Limits,
    inputs: bool,
) -> Iterator[Keeper]:
    """A keeper for one launch; it must outlive the launch's container, which uses its volumes.

    Args:
        client: the daemon.
        image: whose ``sleep`` it runs.
        labels: what tells this runner's containers and volumes from others.
        limits: the launch's: they bound what its outputs may hold.
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
    container: Container | None = None
    try:
        # A wish to stop that comes meanwhile is heard once we know what is to be removed.
        with uninterrupted():
            container = create_container(
                client,
                image=image,
                command=_SLEEP,
                name=f"forge-bench-keeper-{uuid.uuid4().hex[:8]}",
                labels=labels,
                limits=_LIMITS,
                cpuset=None,
                mounts=mounts,
                environment={},
            )
        container.start()
        yield Keeper(container, limits)
    finally:
        if container is not None:
            with uninterrupted(), contextlib.suppress(*BROKEN_CONNECTION):
                container.remove(force=True, v=True)


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
    """The daemon's archive of a folder, as a stream that may be left before its end."""
    chunks: Any
    chunks, _ = container.get_archive(path)
    try:
        with tarfile.open(fileobj=_Chunks(chunks), mode="r|") as archive:
            yield archive
    finally:
        # The daemon holds the container's lock until somebody has read it all, or hangs up.
        chunks.close()


def _type(entry: tarfile.TarInfo) -> int:
    """An entry's type, as ``st_mode`` has it. A hard link to another entry is a link too."""
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
