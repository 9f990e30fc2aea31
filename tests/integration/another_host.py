"""Another machine of the tests' own: a daemon with its own storage behind a real sshd, reached with a real ssh."""

import contextlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest
from own_daemon import WHY_NOT, OwnDaemon, own_daemon, possible

from runner.executors.probe import IMAGE
from runner.executors.sweep import OWNER_LABEL
from tests import own_ssh

_USER = "board"
_PATIENCE = 30
# The users of that machine: in a mount namespace of its own, sshd sees these instead of this machine's.
_USERS = """root:x:0:0::/root:/bin/sh
sshd:x:105:65534::/run/sshd:/usr/sbin/nologin
board:x:65534:65534::/tmp:/bin/sh
"""
_LOCKS = "".join(f"{name}:*:19000:0:99999:7:::\n" for name in ("root", "sshd", "board"))
_IN_NAMESPACE = """
mount --bind "$1/passwd" /etc/passwd && mount --bind "$1/shadow" /etc/shadow
mount -t tmpfs none /run && mkdir /run/sshd
exec "$1/root/usr/sbin/sshd" -D -e -f "$1/sshd_config"
"""
_SSHD = """Port {port}
ListenAddress 127.0.0.1
HostKey {directory}/host
AuthorizedKeysFile {directory}/user.pub
PidFile none
StrictModes no
UsePAM no
PasswordAuthentication no
"""


@dataclass(frozen=True)
class AnotherHost:
    """A machine that is reached over SSH alone."""

    daemon: OwnDaemon
    port: int
    directory: Path

    @property
    def address(self) -> str:
        """What a matrix names."""
        return f"ssh://{_USER}@127.0.0.1:{self.port}{self.daemon.socket}"

    @property
    def environment(self) -> Mapping[str, str]:
        """An environment whose ssh has the key of that machine."""
        return own_ssh.environment(self.directory)

    def cut(self) -> int:
        """Kill every ssh that leads there, as a crash would; returns how many there were."""
        found = [each for each in psutil.process_iter(["name", "cmdline"]) if self._leads_there(each)]
        for each in found:
            each.kill()
        return len(found)

    def left(self) -> list[str]:
        """The images of the containers of any runner there."""
        listed = self.daemon.docker(
            "ps", "--all", "--filter", f"label={OWNER_LABEL}", "--format", "{{.Image}}"
        )
        return [each for each in listed.stdout.splitlines() if not each.startswith(IMAGE)]

    def volumes(self) -> list[str]:
        """The volumes there."""
        return self.daemon.docker("volume", "ls", "--quiet").stdout.splitlines()

    def _leads_there(self, process: psutil.Process) -> bool:
        words = process.info["cmdline"] or []
        return process.info["name"] == "ssh" and any(str(self.daemon.socket) in word for word in words)


@contextlib.contextmanager
def another_host() -> Iterator[AnotherHost]:
    """The machine, up until the end of the block. Nothing is installed: sshd is unpacked into a temporary directory."""
    if not possible() or shutil.which("apt-get") is None:
        pytest.skip(f"{WHY_NOT}, and sshd needs apt-get")
    # Not below pytest's own directories, which shut other users out again and again.
    with tempfile.TemporaryDirectory(prefix="fb-ssh-") as name:
        directory = Path(name)
        # The user's keys are read with the user's own rights.
        directory.chmod(0o755)
        yield from _in(directory)


def _in(directory: Path) -> Iterator[AnotherHost]:
    root = _unpacked(directory)
    own_ssh.make_key(directory / "host")
    own_ssh.make_client(directory)
    (directory / "passwd").write_text(_USERS)
    (directory / "shadow").write_text(_LOCKS)
    port = own_ssh.free_port()
    (directory / "sshd_config").write_text(_SSHD.format(port=port, directory=directory))
    with own_daemon() as daemon:
        daemon.socket.chmod(0o666)
        daemon.socket.parent.chmod(0o755)
        libraries = (
            f"{root}/lib/x86_64-linux-gnu:{root}/usr/lib/x86_64-linux-gnu:{root}/usr/lib/aarch64-linux-gnu"
        )
        process = subprocess.Popen(
            ["unshare", "--mount", "sh", "-ec", _IN_NAMESPACE, "sh", str(directory)],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
            env={**os.environ, "LD_LIBRARY_PATH": libraries},
        )  # fmt: skip
        try:
            # What it says later are a few lines, which the pipe holds.
            assert any("Server listening" in line for line in process.stderr), "sshd ended"
            yield AnotherHost(daemon, port, directory)
        finally:
            process.kill()
            process.wait(timeout=_PATIENCE)


def _unpacked(directory: Path) -> Path:
    # apt lowers its privileges to a user that pytest's own directories shut out.
    package = subprocess.run(
        ["apt-get", "download", "-qq", "-o", "APT::Sandbox::User=root", "openssh-server", "libwrap0"],
        cwd=directory, capture_output=True, text=True, check=False,
    )  # fmt: skip
    if package.returncode != 0:
        pytest.skip(f"Debian's openssh-server cannot be had: {package.stderr.strip()}")
    root = directory / "root"
    for path in directory.glob("*.deb"):
        subprocess.run(["dpkg-deb", "--extract", str(path), str(root)], check=True)
    return root
