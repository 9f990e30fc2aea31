"""Everything about a host that decides whether a run would work, as plain values: read once, invented by tests."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Any

from runner.daemon.whereabouts import Whereabouts
from runner.host.facts import Host
from runner.host.mirror import Mirror
from runner.matrix.toolchain import Toolchain
from runner.system.errors import DockerUnavailable, ForgeBenchError, PackagesDrifted, StoreError


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """What is to be run here: the images that it takes, and the largest limits of its launches."""

    toolchains: tuple[Toolchain, ...]
    images: tuple[str, ...]
    foreign: frozenset[str]
    memory_bytes: int
    cpus: int


@dataclass(frozen=True, kw_only=True)
class Daemon:
    """The daemon, as far as it could be asked.

    Attributes:
        problem: why it cannot be spoken to; None where it answers.
        host: its address; empty where not even that is known.
        place: where its containers run.
        sdk: why the Python library cannot be used; None where it can.
        client: the version of the command line; None where there is none.
        information: what ``docker info`` says; empty where it does not answer.
    """

    problem: DockerUnavailable | None
    host: str = ""
    place: Whereabouts = Whereabouts.HERE
    sdk: str | None = None
    client: str | None = None
    information: Mapping[str, Any] = field(default_factory=dict)

    @property
    def on_another_kernel(self) -> bool:
        """Whether its containers run on another kernel than this one."""
        return self.place is not Whereabouts.HERE


@dataclass(frozen=True, kw_only=True)
class Place:
    """A file system: what of ours lies on it, how much is free, how much is needed. In bytes."""

    path: Path
    holds: tuple[str, ...]
    free_bytes: int
    needed_bytes: int


class Remedy(Enum):
    """What opens a closed results directory to this user. There is none that touches what is not ours."""

    # It is not there, and its parent is closed.
    MAKE = "make"
    # It is there, and holds nothing but results.
    TAKE = "take"


@dataclass(frozen=True, kw_only=True)
class Results:
    """The results directory, which need not be there yet; why nothing can be written in it, and what mends that."""

    path: Path
    problem: ForgeBenchError | None = None
    remedy: Remedy | None = None


@dataclass(frozen=True, kw_only=True)
class Machine:
    """What the machine is and does just now; None where unknown. ``memory_bytes`` is what this process may have."""

    cpus: int
    memory_bytes: int
    memory_available_bytes: int
    swap_bytes: int
    load_1m: float
    governor: str | None


@dataclass(frozen=True, kw_only=True)
class Situation:
    """All of it.

    Attributes:
        executor: ``docker`` or ``local``.
        inside_image: whether this is the runner of an image.
        wanted: what is to be run.
        host: what is installed; None where containers are not used.
        daemon: the daemon; None where containers are not used.
        missing_images: those of ``wanted`` that the daemon does not have; None where it could not be asked.
        trial: for each foreign architecture whether one of its programs ran here; None where that was not tried.
        unprivileged: why the base could not be bootstrapped without root; None where it could.
        mirrors: one for each suite.
        locked: by toolchain and pin the upstream versions that its locks hold; or why they cannot be used.
        places: one for each file system.
        results: where records go.
        damaged: records that are not what was sealed.
        unread: why records could not be read at all, though nothing says that they are damaged.
        foreign_files: what lies beside the records and is none.
        left_out: implementations that the local executor cannot run here, and why.
        machine: the machine.
    """

    executor: str
    inside_image: bool
    wanted: Wanted
    host: Host | None
    daemon: Daemon | None
    missing_images: tuple[str, ...] | None
    trial: Mapping[str, bool | None]
    unprivileged: str | None
    mirrors: Sequence[Mirror]
    locked: Mapping[str, Mapping[str, frozenset[str]] | PackagesDrifted]
    places: Sequence[Place]
    results: Results
    damaged: tuple[Path, ...]
    unread: tuple[StoreError, ...] = ()
    foreign_files: tuple[Path, ...] = ()
    left_out: Mapping[str, str]
    machine: Machine
