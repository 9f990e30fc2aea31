"""Containers and volumes that runners left behind: their owners, and their removal.

Each carries the token of its runner (system/owner.py) and its launch's deadline. Where the owner can be judged from
here, it decides. A runner on another host or in another container that shares this daemon cannot be judged. Then only
the age decides, by the daemon's clock. Every runner kills a container at its deadline, so no runner waits long after
it.
"""

import contextlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from docker.errors import NotFound

from runner.daemon.connection import BROKEN_CONNECTION
from runner.system.owner import Fate, Owner

if TYPE_CHECKING:
    from docker import DockerClient

OWNER_LABEL = "forge-bench.runner"
DEADLINE_LABEL = "forge-bench.deadline"
# Time on top of the deadline: for copying files in and out, and for a suspended machine.
_MARGIN_SECONDS = 3600.0


@dataclass(frozen=True, kw_only=True)
class Remains:
    """The leftovers: ids of containers (removed with their anonymous volumes), and names of other volumes."""

    containers: tuple[str, ...]
    volumes: tuple[str, ...]


def owner_labels(deadline_seconds: float) -> dict[str, str]:
    """The labels of all containers and volumes that this process makes for a launch."""
    return {OWNER_LABEL: str(Owner.current()), DEADLINE_LABEL: f"{deadline_seconds:.0f}"}


def is_abandoned(labels: Mapping[str, str], age_seconds: float) -> bool:
    """Whether no runner can still use a thing with these labels.

    A thing without readable labels is never abandoned.
    """
    owner = Owner.named_in(labels.get(OWNER_LABEL, ""))
    if owner is None:
        return False
    fate = owner.fate
    if fate is not Fate.UNKNOWN:
        return fate is Fate.DEAD
    try:
        return age_seconds > float(labels[DEADLINE_LABEL]) + _MARGIN_SECONDS
    except (KeyError, ValueError):
        return False


def find_remains(client: "DockerClient") -> Remains:
    """The leftovers of dead runners on this daemon. Nothing is removed.

    Raises:
        BROKEN_CONNECTION: the daemon does not answer.
    """
    now = _time(client.info()["SystemTime"])
    containers = client.api.containers(all=True, filters={"label": OWNER_LABEL})
    volumes = client.api.volumes(filters={"label": OWNER_LABEL})["Volumes"] or ()
    return Remains(
        containers=_abandoned(
            (each["Id"], each["Labels"], now - float(each["Created"])) for each in containers
        ),
        volumes=_abandoned(
            (each["Name"], each["Labels"], now - _time(each["CreatedAt"])) for each in volumes
        ),
    )


def sweep(client: "DockerClient") -> Remains:
    """Remove the leftovers of dead runners; return what this call removed.

    Another runner may be sweeping too, and a container may be ending by itself. A leftover that cannot be removed is
    left to the next call, and is no failure.
    """
    containers, volumes = [], []
    with contextlib.suppress(*BROKEN_CONNECTION):
        found = find_remains(client)
        for container in found.containers:
            with contextlib.suppress(*BROKEN_CONNECTION):
                client.api.remove_container(container, v=True, force=True)
                containers.append(container)
        for volume in found.volumes:
            # Most volumes were removed with their container. The daemon refuses to remove one that a container still
            # uses.
            with contextlib.suppress(*BROKEN_CONNECTION):
                client.api.remove_volume(volume)
                volumes.append(volume)
    return Remains(containers=tuple(containers), volumes=tuple(volumes))


def remove_own(client: "DockerClient") -> None:
    """Remove what this very process left on a daemon to which its connection had broken: it runs nothing there now.

    Raises:
        BROKEN_CONNECTION: the daemon does not answer.
    """
    own = {"label": f"{OWNER_LABEL}={Owner.current()}"}
    for container in client.api.containers(all=True, filters=own):
        with contextlib.suppress(NotFound):
            client.api.remove_container(container["Id"], v=True, force=True)
    for volume in client.api.volumes(filters=own)["Volumes"] or ():
        with contextlib.suppress(NotFound):
            client.api.remove_volume(volume["Name"])


def _abandoned(found: Iterable[tuple[str, Mapping[str, str] | None, float]]) -> tuple[str, ...]:
    return tuple(name for name, labels, age in found if is_abandoned(labels or {}, age))


def _time(text: str) -> float:
    """Seconds since the epoch of the daemon's RFC 3339, whose nanoseconds are more than datetime takes."""
    whole, point, rest = text.partition(".")
    digits = rest[: len(rest) - len(rest.lstrip("0123456789"))]
    zone = rest[len(digits) :]
    moment = datetime.fromisoformat(whole + zone if point else whole)
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
