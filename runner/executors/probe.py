"""The probe: a container on another machine that reads the files in which its kernel describes it.

Its program is made of a few instructions, so no image has to be there before the plan is made. It stays while the
runner uses the machine, because a command in a running container costs less than a container.
"""

import contextlib
import hashlib
import io
import tarfile
import uuid
from collections.abc import Callable, Iterable, Sequence

import requests
from docker.errors import APIError
from docker.types import LogConfig

import docker
from runner.daemon.connection import BROKEN_CONNECTION
from runner.executors.container_command import run_told, tell
from runner.executors.containers import USER
from runner.executors.sweep import owner_labels
from runner.system.elf import executable
from runner.system.kernel_files import Read
from runner.system.meanwhile import meanwhile
from runner.system.signals import uninterrupted

# For each file that an argument names: its content, then four zero bytes. Without an argument it waits for a signal.
_PROGRAMS = {
    # Its system calls: open, read, write and close for each file, then exit; or pause.
    "amd64": (
        62,
        bytes.fromhex(
            "488d5c2410 48833b00 7509 b822000000 0f05 ebf7"
            "488b3b 4885ff 745b 4883c308 31f6 b802000000 0f05 4189c4"
            "4489e7 488db42400f0ffff ba00100000 31c0 0f05 85c0 7e10"
            "89c2 bf01000000 b801000000 0f05 ebd8"
            "4489e7 b803000000 0f05 6a00 4889e6 ba04000000 bf01000000 b801000000 0f05 58 eb9d"
            "31ff b83c000000 0f05"
        ),
    ),
    # The same with openat and ppoll.
    "arm64": (
        183,
        bytes.fromhex(
            "f3430091 610240f9 010100b5"
            "000080d2 010080d2 020080d2 030080d2 280980d2 010000d4 faffff17"
            "618640f8 e10300b4 600c8092 020080d2 030080d2 080780d2 010000d4 f40300aa"
            "e00314aa e10740d1 020082d2 e80780d2 010000d4 1f0000f1 ed000054"
            "e20300aa e10740d1 200080d2 080880d2 010000d4 f4ffff17"
            "e00314aa 280780d2 010000d4 ff0f1ff8 e1030091 820080d2 200080d2 080880d2 010000d4 ff430091 e1ffff17"
            "000080d2 a80b80d2 010000d4"
        ),
    ),
}
IMAGE = "forge-bench-probe"
_END = b"\0\0\0\0"
_READ = "/read"
# As long as the longest launch: its runner removes it, and a dead one's is swept.
_SECONDS = 604800.0
_MEMORY_BYTES = 16 * 2**20
_PIDS = 32
# The defaults of Docker hide the name of a board too.
_HIDDEN = ["/proc/kcore", "/proc/keys", "/proc/timer_list", "/proc/sched_debug"]


class Probe:
    """A running probe."""

    def __init__(self, client: docker.DockerClient, architecture: str) -> None:
        """Start it.

        Args:
            client: the daemon of that machine.
            architecture: of the machine.

        Raises:
            docker.errors.APIError: the daemon refuses it, or cannot run its program.
            KeyError: there is no program for that architecture.
        """
        self._client = client
        image = _image(client, architecture)
        # An interrupt during this block waits until the container's id is known for the removal.
        with uninterrupted():
            try:
                # It sees the processes of that machine, as each of its users does: a launch's peak is read there.
                self._container = self._created(image, pid_mode="host")
            except APIError:
                # A daemon that gives its containers users of their own lets none of them see that.
                self._container = self._created(image, pid_mode=None)
        try:
            client.api.start(self._container)
        except BaseException:
            self.close()
            raise

    def _created(self, image: str, *, pid_mode: str | None) -> str:
        host = self._client.api.create_host_config(
            network_mode="none",
            read_only=True,
            cap_drop=["ALL"],
            security_opt=["no-new-privileges"],
            mem_limit=_MEMORY_BYTES,
            memswap_limit=_MEMORY_BYTES,
            pids_limit=_PIDS,
            pid_mode=pid_mode,
            log_config=LogConfig(type="none"),
        )
        host["MaskedPaths"] = _HIDDEN
        created = self._client.api.create_container(
            image,
            command=[_READ],
            user=f"{USER}:{USER}",
            name=f"forge-bench-probe-{uuid.uuid4().hex[:8]}",
            labels=owner_labels(_SECONDS),
            host_config=host,
            use_config_proxy=False,
        )
        return str(created["Id"])

    def read(self, paths: Iterable[str]) -> Read:
        """The files at these paths, read now.

        Raises:
            docker.errors.DockerException, requests.RequestException: the daemon or the connection failed.
        """
        wanted = tuple(dict.fromkeys(paths))
        return self._run(self._tell(wanted), wanted)

    def again(self, paths: Iterable[str]) -> "Again":
        """These files, to be read many times."""
        wanted = tuple(dict.fromkeys(paths))
        return Again(lambda: self._tell(wanted), lambda identifier: self._run(identifier, wanted))

    def _tell(self, paths: Sequence[str]) -> str:
        return tell(self._client.api, self._container, [_READ, *paths], user=f"{USER}:{USER}")

    def _run(self, identifier: str, paths: Sequence[str]) -> Read:
        api = self._client.api
        return parsed(run_told(api, identifier, seconds=api.timeout).stdout, paths).get

    def close(self) -> None:
        """Remove it."""
        with uninterrupted(), contextlib.suppress(*BROKEN_CONNECTION):
            self._client.api.remove_container(self._container, force=True, v=True)


class Again:
    """Files that are read many times. The daemon is told each reading's command when the one before has ended."""

    def __init__(self, tell: Callable[[], str], run: Callable[[str], Read]) -> None:
        self._tell = tell
        self._run = run
        self._told = meanwhile(tell)

    def read(self) -> Read:
        """The files, read now.

        Raises:
            docker.errors.DockerException, requests.RequestException: the daemon or the connection failed.
        """
        try:
            identifier = self._told.result()
        except BROKEN_CONNECTION:
            # Of the moment at which it was told: the daemon may answer now.
            identifier = self._tell()
        try:
            return self._run(identifier)
        finally:
            self._told = meanwhile(self._tell)


def parsed(said: bytes, paths: Sequence[str]) -> dict[str, str]:
    """The text of each file that the program printed, by its path. An empty one is left out.

    Raises:
        requests.ConnectionError: a file's end is missing. An absent file has an end too.
    """
    ends = said.count(_END)
    if ends < len(paths):
        raise requests.ConnectionError(f"the probe's answer has {ends} of {len(paths)} files")
    texts = (each.strip(b"\0").decode("utf-8", "replace").strip() for each in said.split(_END))
    return {path: text for path, text in zip(paths, texts, strict=False) if text}


def program(architecture: str) -> bytes:
    """The program as a file.

    Raises:
        KeyError: there is none for that architecture.
    """
    return executable(*_PROGRAMS[architecture])


def _image(client: docker.DockerClient, architecture: str) -> str:
    """The image of the program on the daemon; made if it is not there."""
    content = program(architecture)
    tag = hashlib.sha256(content).hexdigest()[:12]
    reference = f"{IMAGE}:{tag}"
    try:
        client.images.get(reference)
    except docker.errors.ImageNotFound:
        buffer = io.BytesIO()
        with tarfile.open(fileobj=buffer, mode="w") as archive:
            entry = tarfile.TarInfo(_READ.lstrip("/"))
            entry.size, entry.mode = len(content), 0o755
            archive.addfile(entry, io.BytesIO(content))
        client.api.import_image_from_data(buffer.getvalue(), repository=IMAGE, tag=tag)
    return reference
