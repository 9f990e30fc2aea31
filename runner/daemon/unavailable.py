"""Why no daemon can be used, recognised by the output of the docker command line."""

import os
import platform
import re
from pathlib import Path

from runner.system.errors import DockerForbidden, DockerMissing, DockerUnavailable, PythonNotReady
from runner.system.root import SUDO

# Every release of the command line since 2016 prints these texts, or Go prints them for a system error.
_TROUBLE = re.compile(
    r"cannot connect to the docker daemon|failed to connect to the docker api|error during connect"
    r"|permission denied while trying to connect|error reading from server: eof|unable to resolve docker endpoint"
    r"|docker daemon is not running|code = unavailable",
    re.IGNORECASE,
)
_SYSTEMD = Path("/run/systemd/system")
# The sockets of programs that bring a daemon along, and the command that starts each.
_APPLICATIONS = {
    "/.docker/run/": "open -a Docker",
    "/.docker/desktop/": "systemctl --user start docker-desktop",
    "/.colima/": "colima start",
    "/.orbstack/": "open -a OrbStack",
    "/.rd/": "open -a 'Rancher Desktop'",
}
_ADDRESS = re.compile(r"\b(?:unix|npipe|tcp|ssh)://[^\s;,'\"]*[^\s;,'\".?]")
_LOCAL = "or run what this host can without Docker: --executor local"


def is_connection_trouble(said: str) -> bool:
    """Whether a message of docker, buildx or the SDK says that the daemon could not be spoken to."""
    return _TROUBLE.search(said) is not None


def missing(error: OSError) -> DockerMissing:
    """The error for a missing docker program, or one that the system cannot execute."""
    if isinstance(error, FileNotFoundError):
        return DockerMissing(
            what="there is no docker command here",
            why="images are built and containers are started with it, and it is not on PATH",
            fix=f"install Docker Engine (Debian: {SUDO}apt-get install docker.io) or {_desktop()}, {_LOCAL}",
        )
    return DockerMissing(
        what="the docker command cannot be executed",
        why=error.strerror or str(error),
        fix=f"see which one is found first (type -a docker) and install it anew, {_LOCAL}",
    )


def broken(said: str) -> DockerMissing:
    """The error for a program named docker that is not Docker's."""
    return DockerMissing(
        what="what bears the name docker is not the Docker command line",
        why=f"asked for its version it said {said[:80]!r}",
        fix=f"see which one is found first (type -a docker) and install it anew, {_LOCAL}",
    )


def without_library(error: ModuleNotFoundError) -> PythonNotReady:
    """The error for a Python that lacks the packages of a host."""
    return PythonNotReady(
        what="the Docker library is missing from the Python that runs forge-bench",
        why=f"{error}: it is one of the extra packages that a host needs and an image does not",
        fix=f"make setup (or in the checkout: pip install -e '.[host]'), {_LOCAL}",
    )


def silent(seconds: float) -> DockerUnavailable:
    """The error for a daemon that accepts a connection and does not answer."""
    return DockerUnavailable(
        what="the Docker daemon does not answer",
        why=f"it was asked for its version and said nothing in {seconds:.0f} s",
        fix=f"see what it does (docker info; {SUDO}journalctl -u docker), restart it, {_LOCAL}",
    )


def unavailable(said: str, host: str | None = None) -> DockerUnavailable:
    """The error for a daemon that cannot be reached.

    Args:
        said: what docker printed about it.
        host: the daemon's address, where known.
    """
    why = in_one_line(said) or "docker ended with an error and said nothing"
    named = _ADDRESS.search(said)
    address = host or os.environ.get("DOCKER_HOST") or (named[0] if named else "")
    if "permission denied" in said.lower() and not address.startswith("ssh://"):
        return DockerForbidden(
            what="this user may not speak to the Docker daemon",
            why=why,
            fix=f"{SUDO}usermod -aG docker $USER, then log in again, {_LOCAL}",
        )
    return DockerUnavailable(what="no Docker daemon answers", why=why, fix=f"{_remedy(address)}, {_LOCAL}")


def command_for(problem: DockerUnavailable, address: str) -> str:
    """The one command that makes the daemon at ``address`` usable."""
    if isinstance(problem, DockerMissing):
        return "type -a docker"
    if isinstance(problem, DockerForbidden):
        return f"{SUDO}usermod -aG docker $USER && newgrp docker"
    for variable in ("DOCKER_HOST", "DOCKER_CONTEXT"):
        if os.environ.get(variable):
            return f"unset {variable}"
    if address.startswith(("ssh://", "tcp://")):
        return "docker context use default"
    return _application(address) or _service(address)


def _application(address: str) -> str | None:
    return next((command for socket, command in _APPLICATIONS.items() if socket in address), None)


def _service(address: str) -> str:
    if "/run/user/" in address:
        return "systemctl --user start docker"
    return f"{SUDO}systemctl start docker" if _SYSTEMD.is_dir() else f"{SUDO}service docker start"


def _remedy(address: str) -> str:
    """The advice that brings this daemon back. It depends on the daemon's address."""
    for variable in ("DOCKER_HOST", "DOCKER_CONTEXT"):
        if value := os.environ.get(variable):
            return f"unset {variable}, or correct it (now: {value})"
    command = command_for(DockerUnavailable(what="", why="", fix=""), address)
    if address.startswith(("ssh://", "tcp://")):
        return f"see that {address} can be reached, or {command}"
    if _application(address):
        return f"start it: {command}"
    return f"start it: {command} (or open {_desktop()})"


def _desktop() -> str:
    """Docker Desktop, and inside Windows's subsystem for Linux the switch without which it is not seen there."""
    if "microsoft" in platform.release().lower():
        return "Docker Desktop on Windows and switch on its WSL integration for this distribution"
    return "Docker Desktop"


def in_one_line(said: str) -> str:
    """The first paragraph as one line, because a crashing docker prints its stack below."""
    lines = said.strip().splitlines()
    stack = next((at for at, line in enumerate(lines) if line.startswith(("goroutine ", "[signal "))), None)
    return " ".join(" ".join(lines[:stack]).split())[:300]
