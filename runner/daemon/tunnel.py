"""One SSH connection to another machine, through which a socket of this machine leads to the Docker daemon there.

Both clients of Docker speak to that socket, so neither opens connections of its own. The system's ssh reads the user's
configuration and keys. It gets no terminal and asks for no password.
"""

import contextlib
import os
import shutil
import socket
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from runner.daemon.endpoint import Endpoint
from runner.system.errors import HostAway
from runner.system.orphans import owner_environment
from runner.system.owner import Owner
from runner.system.signals import die_with_parent

_DOCKER = "/var/run/docker.sock"
_OPTIONS = (
    *("BatchMode=yes", "ExitOnForwardFailure=yes", "StreamLocalBindUnlink=yes"),
    # A user's own shared connection would outlive this call, or end within it.
    *("ControlMaster=no", "ControlPath=none"),
    # A machine that is switched off says no farewell.
    *("ConnectTimeout=10", "ServerAliveInterval=10", "ServerAliveCountMax=3"),
)
_SECONDS = 30.0
_LOOK_SECONDS = 0.02


@dataclass(frozen=True, kw_only=True)
class Address:
    """A machine as ``ssh://user@board:22/run/docker.sock`` names it."""

    destination: str
    port: int | None
    remote_socket: str

    @classmethod
    def of(cls, text: str) -> "Address":
        """The parts of an address whose form the matrix has checked."""
        found = urlsplit(text)
        # Not found.hostname, which is in small letters: a name in the user's configuration need not be.
        port = "" if found.port is None else f":{found.port}"
        destination = found.netloc.removesuffix(port).replace("[", "").replace("]", "")
        path = found.path if found.path.strip("/") else _DOCKER
        return cls(destination=destination, port=found.port, remote_socket=path)


class Tunnel:
    """An ssh process and the socket that it forwards."""

    def __init__(self, platform: str, address: str) -> None:
        """Connect to the machine of a platform.

        Raises:
            HostAway: it cannot be reached, or lets nobody in.
        """
        self._platform = platform
        # A socket's path must be short: a user's temporary directory may be too long.
        self._directory = Path(tempfile.mkdtemp(prefix=f"forge-bench-ssh-{Owner.current()}-", dir="/tmp"))
        self._log = self._directory / "log"
        self._socket = self._directory / "s"
        try:
            self._process = self._start(Address.of(address))
        except BaseException:
            shutil.rmtree(self._directory, ignore_errors=True)
            raise
        try:
            self._await()
        except BaseException:
            self.close()
            raise

    @property
    def endpoint(self) -> Endpoint:
        """The daemon's address on this machine."""
        return Endpoint(context=f"ssh to {self._platform}", host=f"unix://{self._socket}")

    def away(self, why: str = "") -> HostAway:
        """The error for a connection that does not carry: ``why``, and what ssh says."""
        said = self._said()
        told = [why, f"ssh says: {said}" if said else "", "" if self.is_alive else "ssh has ended"]
        return HostAway(
            what=f"the machine of {self._platform} cannot be reached",
            why="; ".join(filter(None, told)),
            fix="see that it is on, that ssh lets you in without a password, and that you may use its Docker; "
            "or select other platforms with --platform",
        )

    @property
    def is_alive(self) -> bool:
        """Whether ssh runs."""
        return self._process.poll() is None

    def close(self) -> None:
        """End the connection and remove its files."""
        self._process.kill()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(timeout=_SECONDS)
        shutil.rmtree(self._directory, ignore_errors=True)

    def _start(self, address: Address) -> "subprocess.Popen[bytes]":
        port = () if address.port is None else ("-p", str(address.port))
        options = (word for option in _OPTIONS for word in ("-o", option))
        forward = ("-L", f"{self._socket}:{address.remote_socket}")
        with self._log.open("wb") as log:
            try:
                return subprocess.Popen(
                    ["ssh", "-N", "-T", *options, *port, *forward, "--", address.destination],
                    env={**os.environ, **owner_environment()},
                    preexec_fn=die_with_parent(),  # noqa: PLW1509 (it allocates nothing)
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    # Ctrl-C is the runner's: what it started there is removed through this connection.
                    start_new_session=True,
                )
            except OSError as error:
                raise HostAway(
                    what=f"the machine of {self._platform} cannot be reached",
                    why=f"ssh cannot be started: {error.strerror or error}",
                    fix="install the SSH client (Debian: apt-get install openssh-client)",
                ) from error

    def _await(self) -> None:
        """Wait until the socket takes connections, which it does once the user is let in."""
        until = time.monotonic() + _SECONDS
        while not self._listens():
            if not self.is_alive:
                raise self.away()
            if time.monotonic() > until:
                raise self.away(f"ssh was not through after {_SECONDS:.0f} s")
            time.sleep(_LOOK_SECONDS)

    def _listens(self) -> bool:
        with socket.socket(socket.AF_UNIX) as trial:
            try:
                trial.connect(str(self._socket))
            except OSError:
                return False
        return True

    def _said(self) -> str:
        """The last line of what ssh said."""
        with contextlib.suppress(OSError):
            lines = self._log.read_text(encoding="utf-8", errors="replace").split("\n")
            return next((line.strip() for line in reversed(lines) if line.strip()), "")
        return ""
