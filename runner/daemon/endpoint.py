"""The daemon's address: the one that the docker command line uses, read once.

The SDK reads only DOCKER_HOST; the command line also reads contexts. Both must use one daemon, or images would be
built on one and searched on the other.
"""

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from runner.daemon.docker_command import docker
from runner.daemon.unavailable import unavailable
from runner.system.errors import DockerUnavailable

_SECONDS = 20.0


@dataclass(frozen=True, kw_only=True)
class Endpoint:
    """A daemon's address as the command line resolved it.

    ``context`` is also the name of the buildx builder that stands for this daemon. ``tls`` holds the files of a
    context's own certificates; where ``context`` is "default", the environment says what is trusted.
    """

    context: str
    host: str
    tls: Path | None = None
    verify: bool = True

    @property
    def socket(self) -> Path | None:
        """The Unix socket; None for a daemon that is reached in another way."""
        return Path(self.host.removeprefix("unix://")) if self.host.startswith("unix://") else None


@cache
def current_endpoint() -> Endpoint:
    """The address that ``DOCKER_HOST``, ``DOCKER_CONTEXT`` and ``docker context use`` lead to.

    Raises:
        DockerMissing: there is no docker command, or it is not Docker's.
        DockerUnavailable: they name an unknown context or an invalid address.
    """
    answer = docker("context", "inspect", timeout=_SECONDS)
    if answer.returncode != 0:
        raise unavailable(answer.stderr)
    try:
        return _parse(json.loads(answer.stdout)[0])
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        raise _no_context(answer.stdout) from error


def _parse(found: dict[str, Any]) -> Endpoint:
    address = found["Endpoints"]["docker"]
    files = (found.get("TLSMaterial") or {}).get("docker")
    return Endpoint(
        context=str(found["Name"]),
        host=str(address["Host"]),
        tls=Path(found["Storage"]["TLSPath"]) / "docker" if files else None,
        verify=not address.get("SkipTLSVerify", False),
    )


def _no_context(said: str) -> DockerUnavailable:
    return DockerUnavailable(
        what="docker does not say which daemon it speaks to",
        why=f"docker context inspect printed {said[:80]!r}",
        fix="see docker context ls; install a docker command of release 19.03 or later",
    )
