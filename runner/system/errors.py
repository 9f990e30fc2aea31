"""One small class per kind of failure, each with an exit code of its own.

A message has three parts: what happened, why, and what to do about it. The command line prints the parts as three
lines and exits with ``exit_code``. A mistake of the user or a fault of the host never prints a traceback.
"""

from collections.abc import Callable
from functools import partial
from typing import ClassVar

from runner.system.printable import lines

# Parts of a message may come from a matrix, a record, or what a program printed; all of it goes to a terminal.
_LONGEST_LINE = 4000


class ForgeBenchError(Exception):
    """Base of every failure that a user can meet."""

    exit_code: ClassVar[int] = 1

    def __init__(self, *, what: str, why: str, fix: str) -> None:
        super().__init__(what)
        self.what = what
        self.why = why
        self.fix = fix

    def __reduce__(self) -> tuple[Callable[[], "ForgeBenchError"], tuple[()]]:
        """Three parts, by their names, also where another process raises it again."""
        return partial(type(self), what=self.what, why=self.why, fix=self.fix), ()

    def __str__(self) -> str:
        what, why, fix = (lines(part, _LONGEST_LINE) for part in (self.what, self.why, self.fix))
        return f"{what}\n  why: {why}\n  to do: {fix}"


class UsageError(ForgeBenchError):
    """The command line asks for something that does not exist."""

    exit_code = 2


class MatrixError(ForgeBenchError):
    """matrix.yaml has faults; all of them are in the message."""

    exit_code = 2


class CellsFailed(ForgeBenchError):
    """The run went through to its end and some cells failed."""

    exit_code = 3


class HostNotReady(ForgeBenchError):
    """The host lacks something that a command can install."""

    exit_code = 4


class BuildxMissing(HostNotReady):
    """The docker command has no buildx, which builds the images."""

    exit_code = 15


class EmulationMissing(HostNotReady):
    """The kernel does not run programs of an architecture that was asked for."""

    exit_code = 16


class PythonNotReady(HostNotReady):
    """The Python that runs this is too old, or lacks a package."""

    exit_code = 21


class DockerUnavailable(ForgeBenchError):
    """No Docker daemon answers."""

    exit_code = 5


class DockerMissing(DockerUnavailable):
    """There is no docker command, or the program of that name cannot be run."""

    exit_code = 13


class DockerForbidden(DockerUnavailable):
    """A daemon listens, and this user may not speak to it."""

    exit_code = 14


class ClientMisconfigured(DockerUnavailable):
    """The configuration file of Docker's client cannot be used, or it adds settings to containers."""

    exit_code = 23


class HostAway(DockerUnavailable):
    """The machine of a platform cannot be reached; its cells were not run."""

    exit_code = 32


class SlurmAway(HostAway):
    """Slurm does not answer, or does not take a job."""

    exit_code = 34


class ImageBuildFailed(ForgeBenchError):
    """A build of an image, or of the base that it stands on, failed."""

    exit_code = 6


class MirrorUnreachable(ImageBuildFailed):
    """A package server could not be found or reached, or it lacks a package."""

    exit_code = 17


class PinMismatch(ForgeBenchError):
    """An image holds another version than the matrix pins."""

    exit_code = 7


class WrongImage(PinMismatch):
    """The given image is not the image of the record, so it can verify nothing."""

    exit_code = 20


class ImageNotFound(ForgeBenchError):
    """An image that a record or a user names was not found anywhere."""

    exit_code = 19


class VerificationDiffers(ForgeBenchError):
    """A cell was run again and a figure came out differently."""

    exit_code = 10


class OtherWork(ForgeBenchError):
    """A record's work is not that of the matrix, so nothing that is found about it says anything about the matrix."""

    exit_code = 29


class NothingDecided(ForgeBenchError):
    """Cells were run again, nothing differs, and no time that ranks could be judged."""

    exit_code = 30


class PackagesDrifted(ForgeBenchError):
    """The locked packages differ from the packages that were asked for, or are no longer served."""

    exit_code = 11


class StoreError(ForgeBenchError):
    """The results directory cannot be read or written, or holds a damaged record."""

    exit_code = 8


class DamagedRecord(StoreError):
    """A record was altered or cut off."""

    exit_code = 18


class DamagedLedger(StoreError):
    """A line of a ledger was altered, left out or added."""

    exit_code = 26


class ContradictoryRecord(DamagedRecord):
    """A record has the right hash and contradicts itself: it was altered and sealed again."""

    exit_code = 28


class NewerRecord(StoreError):
    """A later version of forge-bench wrote a record, and this version cannot read it."""

    exit_code = 24


class NoSpace(ForgeBenchError):
    """A disk is full."""

    exit_code = 12


class HostLimited(ForgeBenchError):
    """The caller's own limits (ulimit), or the machine's memory, leave too little to work with."""

    exit_code = 25


class NotPublishable(ForgeBenchError):
    """The records that a publication was asked for may not be published as they are."""

    exit_code = 27


class CpusTaken(ForgeBenchError):
    """Another runner on this machine uses the CPUs of a launch, and does not end."""

    exit_code = 31


class LaunchesLost(ForgeBenchError):
    """Jobs of a fleet ended without an answer, or were refused on their node; the other cells are stored."""

    exit_code = 35


class NodeDiffers(ForgeBenchError):
    """A launch came to a node, or met a checkout, that is not the one of its plan."""

    exit_code = 33


class DamagedBundle(StoreError):
    """A bundle is not what was written: a byte of it changed, or a file was added or left out."""

    exit_code = 36


class OutputLost(ForgeBenchError):
    """The work is done, and its results could not be written to stdout."""

    exit_code = 22


class NothingToCompare(ForgeBenchError):
    """The records that a comparison needs are not in the store."""

    exit_code = 9


class Regressed(ForgeBenchError):
    """A cell is slower than it was, or fails now."""

    exit_code = 37


class NotQuiet(ForgeBenchError):
    """``--strict``: the machine is or was in a state that pages would warn of."""

    exit_code = 38


class Interrupted(ForgeBenchError):
    """The user stopped the run; what was finished is stored."""

    exit_code = 130
