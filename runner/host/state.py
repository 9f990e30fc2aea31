"""All facts about a host that decide whether a run would work, as plain values. Tests invent them."""

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
    """The requested run: its images, and the largest limits of its launches."""

    toolchains: tuple[Toolchain, ...]
    images: tuple[str, ...]
    foreign: frozenset[str]
    memory_bytes: int
    cpus: int


@dataclass(frozen=True, kw_only=True)
class Daemon:
    """The facts about the daemon.

    Attributes:
        problem: why it cannot be used; None where it answers.
        host: its address; empty where it is unknown.
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
    """A file system: the project's data on it, the free bytes and the needed bytes."""

    path: Path
    holds: tuple[str, ...]
    free_bytes: int
    needed_bytes: int


class Remedy(Enum):
    """The action that opens a closed results directory to this user. No action touches foreign files."""

    # The directory does not exist, and its parent is closed.
    MAKE = "make"
    # The directory exists, and holds only results.
    TAKE = "take"


@dataclass(frozen=True, kw_only=True)
class Results:
    """The results directory, which need not exist yet: why it cannot be written, and the action that opens it."""

    path: Path
    problem: ForgeBenchError | None = None
    remedy: Remedy | None = None


@dataclass(frozen=True, kw_only=True)
class Machine:
    """The machine and its state at this moment; None where unknown. ``memory_bytes`` is what this process may use."""

    cpus: int
    memory_bytes: int
    memory_available_bytes: int
    swap_bytes: int
    load_1m: float
    governor: str | None


@dataclass(frozen=True, kw_only=True)
class HostState:
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
