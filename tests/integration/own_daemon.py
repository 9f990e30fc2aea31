"""A Docker daemon of the tests' own, which may be stopped, killed, filled and emptied without harm to anybody."""

import contextlib
import json
import os
import shutil
import subprocess
import tarfile
import tempfile
from collections.abc import Iterator, Mapping
from io import BytesIO
from pathlib import Path

import psutil

from runner.system import machine
from runner.system.elf import executable

Result = subprocess.CompletedProcess[str]

WHY_NOT = "a daemon of the tests' own needs root and dockerd"
_PATIENCE = 60
_NUMBERS = {"amd64": 62, "arm64": 183}
# System calls and nothing else: exit(0), and waiting for a signal again and again.
_END = {
    "amd64": bytes.fromhex("31ff b83c000000 0f05"),
    "arm64": bytes.fromhex("000080d2 a80b80d2 010000d4"),
}
_HANG = {
    "amd64": bytes.fromhex("b822000000 0f05 ebf7"),
    "arm64": bytes.fromhex("280980d2 010000d4 feffff17"),
}


def possible() -> bool:
    """Whether such a daemon can be had here."""
    return os.geteuid() == 0 and shutil.which("dockerd") is not None


class OwnDaemon:
    """One daemon with its own socket and storage, in namespaces of its own.

    Its containers and its builds have a network that leads nowhere; and whatever it started or mounted is gone at the
    moment in which it is.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._process: subprocess.Popen[bytes] | None = None
        self.socket = directory / "docker.sock"

    @property
    def host(self) -> str:
        return f"unix://{self.socket}"

    @property
    def environment(self) -> Mapping[str, str]:
        """What a program needs to speak to this daemon and to no other."""
        return {**os.environ, "DOCKER_HOST": self.host}

    def start(self) -> None:
        """Start it, and return when it answers."""
        (self._directory / "daemon.json").write_text("{}", encoding="utf-8")
        # After a crash a thread of the new daemon may have the number that these files give to another process. The
        # daemon then waits for a containerd that is gone. A machine that restarts empties its /run in the same way.
        for left in ("pid", "run/containerd/containerd.pid"):
            (self._directory / left).unlink(missing_ok=True)
        with (self._directory / "log").open("ab") as log:
            self._process = subprocess.Popen(
                ["unshare", "--mount", "--pid", "--net", "--fork", "--kill-child", "--mount-proc",
                 "dockerd", "--config-file", str(self._directory / "daemon.json"),
                 "--data-root", str(self._directory / "data"), "--exec-root", str(self._directory / "run"),
                 "--pidfile", str(self._directory / "pid"), "--host", self.host, "--iptables=false"],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
            )  # fmt: skip
        # It opens its socket early and answers when it is ready.
        waiting = ["curl", "--silent", "--fail", "--retry", "100", "--retry-delay", "1", "--retry-all-errors",
                   "--unix-socket", str(self.socket), "http://docker/_ping"]  # fmt: skip
        subprocess.run(waiting, capture_output=True, timeout=_PATIENCE, check=True)

    def kill(self) -> None:
        """End it as a crash would."""
        if self._process is not None:
            # It is the first process of its namespace: with it go all others.
            for child in psutil.Process(self._process.pid).children():
                child.kill()
            self._process.wait(timeout=_PATIENCE)
            self._process = None

    def docker(self, *arguments: str, input: bytes | None = None) -> Result:  # noqa: A002 (as subprocess calls it)
        """The docker command line, speaking to this daemon."""
        done = subprocess.run(
            ["docker", *arguments], input=input, capture_output=True, env=self.environment, timeout=_PATIENCE, check=False
        )  # fmt: skip
        return Result(arguments, done.returncode, done.stdout.decode(), done.stderr.decode())

    def import_image(self, name: str, files: Mapping[str, bytes], *changes: str) -> str:
        """An image of these programs, by their paths; returns its identifier."""
        buffer = BytesIO()
        with tarfile.open(fileobj=buffer, mode="w") as archive:
            for path, content in files.items():
                entry = tarfile.TarInfo(path)
                entry.size, entry.mode = len(content), 0o755
                archive.addfile(entry, BytesIO(content))
        words = [word for change in changes for word in ("--change", change)]
        done = self.docker("import", *words, "-", name, input=buffer.getvalue())
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()


@contextlib.contextmanager
def own_daemon() -> Iterator[OwnDaemon]:
    """A daemon that is up, and gone with all that it held at the end of the block."""
    # A socket's path must be short: pytest's own directories are not.
    with tempfile.TemporaryDirectory(prefix="fb-", ignore_cleanup_errors=True) as name:
        daemon = OwnDaemon(Path(name))
        daemon.start()
        try:
            yield daemon
        finally:
            daemon.kill()


def ending() -> bytes:
    """A program that ends at once."""
    here = machine.architecture()
    return executable(_NUMBERS[here], _END[here])


def hanging() -> bytes:
    """A program that never ends."""
    here = machine.architecture()
    return executable(_NUMBERS[here], _HANG[here])


def printing(value: object) -> bytes:
    """A program that prints a value as JSON and ends."""
    here = machine.architecture()
    text = json.dumps(value).encode() + b"\n"
    size = len(text)
    if here == "amd64":
        # write(1, text, size); exit(0); the text stands behind the code.
        code = b"".join(
            [
                bytes.fromhex("b801000000 bf01000000 488d35"), (14 + 2).to_bytes(4, "little"),
                b"\xba", size.to_bytes(4, "little"), bytes.fromhex("0f05"), _END[here],
            ]
        )  # fmt: skip
    else:
        # mov x0, 1; adr x1, text, which is seven instructions on; movz x2, size; write; exit(0).
        movz = (0xD2800002 | (size << 5)).to_bytes(4, "little")
        adr = (0x10000001 | (7 << 5)).to_bytes(4, "little")
        code = bytes.fromhex("200080d2") + adr + movz + bytes.fromhex("080880d2 010000d4") + _END[here]
    return executable(_NUMBERS[here], code + text)
