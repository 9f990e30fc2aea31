"""Whether a daemon answers, and how it describes itself."""

import json
import re
from typing import Any

from runner.daemon.client import call_client
from runner.daemon.docker_command import docker
from runner.daemon.endpoint import Endpoint, current_endpoint
from runner.daemon.unavailable import broken, unavailable
from runner.system.errors import DockerMissing

# A healthy daemon answers in milliseconds, and over a slow connection within two seconds.
_SECONDS = 20.0
_VERSION = re.compile(r"v?\d+\.")


def require_daemon(at: Endpoint | None = None) -> Endpoint:
    """Check that a daemon answers; return its address. ``at`` names another than the command line's own.

    Raises:
        DockerMissing, DockerForbidden, DockerUnavailable: no daemon can be used; the message says why.
    """
    require_client()
    endpoint = at or current_endpoint()
    answer = docker("version", "--format", "{{.Server.Version}}", timeout=_SECONDS, at=endpoint)
    if answer.returncode != 0 or not _VERSION.match(answer.stdout):
        raise unavailable(answer.stderr or answer.stdout, endpoint.host)
    return endpoint


def require_client() -> str:
    """The version of the docker command line.

    Raises:
        DockerMissing: there is none, or the program of that name is not Docker's.
    """
    answer = call_client("--version", timeout=_SECONDS)
    words = answer.stdout.replace(",", " ").split()
    version = next((word for word in words if _VERSION.match(word)), None)
    if answer.returncode != 0 or version is None:
        raise broken((answer.stderr or answer.stdout).strip())
    return version


def information() -> dict[str, Any]:
    """The facts of ``docker info`` about the daemon and its machine; empty where they cannot be read.

    Without a daemon the client prints the same form with zeros, and the reason in ``ServerErrors``.
    """
    try:
        found = json.loads(docker("info", "--format", "{{json .}}", timeout=_SECONDS).stdout)
    except (ValueError, DockerMissing):
        return {}
    return found if isinstance(found, dict) and not found.get("ServerErrors") else {}
