"""What a run and the processes of its machines tell each other."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from runner.executors.base import Executor
from runner.planning.planned import ImageKey, Launch
from runner.records.image import ImageFacts
from runner.records.record import Record
from runner.system.errors import ForgeBenchError


@dataclass(frozen=True, kw_only=True)
class Work:
    """What the process is to do.

    Attributes:
        launches: of one machine, in their order.
        executor: makes the executor, with connections of this process's own.
        machines: the fingerprint of each platform's machine, for which the plan was made.
        away: the platforms that nothing is run on, each with the reason.
        cpus: of the runner's machine, those that this process may use; empty where it cannot be held to any.
        shares: whether somebody looks at how far a launch is.
        profile, images, results, secret: as of the run.
    """

    launches: tuple[Launch, ...]
    executor: Callable[[], Executor]
    machines: Mapping[str, Mapping[str, object]]
    away: Mapping[str, str]
    cpus: tuple[int, ...]
    shares: bool
    profile: str
    images: Mapping[ImageKey, tuple[ImageFacts, Mapping[str, str | None]]]
    results: Path
    secret: bytes


@dataclass(frozen=True)
class Said:
    """A line for the user."""

    text: str


@dataclass(frozen=True)
class Began:
    """The launch of this number has begun, perhaps once more."""

    number: int


@dataclass(frozen=True)
class Reached:
    """The running launch has done this share of its work."""

    share: float


@dataclass(frozen=True)
class Ended:
    """A launch has ended, as the ledger tells it. It may begin again. The answer says that it is written."""

    number: int
    name: str | None
    records: tuple[Record, ...]
    void: str | None


@dataclass(frozen=True)
class Over:
    """The next launch in the order has ended, and does not begin again."""


@dataclass(frozen=True)
class Finished:
    """Nothing is left to do. ``error`` is what stopped the launches; None where all of them ended."""

    away: Mapping[str, str]
    error: ForgeBenchError | None = None


Message = Said | Began | Reached | Ended | Over | Finished
