"""One small class per kind of failure, each with an exit code of its own.

A message has three parts: what happened, why, and what to do about it. The command line prints them as three
lines and exits with ``exit_code``; no traceback ever reaches a user for a mistake of his own or of his host.
"""

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
    """There is no docker command, or what bears its name cannot be run."""

    exit_code = 13


class DockerForbidden(DockerUnavailable):
    """A daemon listens, and this user may not speak to it."""

    exit_code = 14


class ImageBuildFailed(ForgeBenchError):
    """A build of an image, or of the base that it stands on, failed."""

    exit_code = 6


class MirrorUnreachable(ImageBuildFailed):
    """A server that packages come from could not be found, reached, or did not have them."""

    exit_code = 17


class PinMismatch(ForgeBenchError):
    """An image holds another version than the matrix pins."""

    exit_code = 7


class WrongImage(PinMismatch):
    """An image was given that is not the one a record was made with: it verifies nothing."""

    exit_code = 20


class ImageNotFound(ForgeBenchError):
    """An image that a record or a user names is nowhere to be had."""

    exit_code = 19


class VerificationDiffers(ForgeBenchError):
    """A cell was run again and a figure came out differently."""

    exit_code = 10


class PackagesDrifted(ForgeBenchError):
    """The locked packages are not what is asked for, or are no longer served."""

    exit_code = 11


class StoreError(ForgeBenchError):
    """The results directory cannot be read or written, or holds a damaged record."""

    exit_code = 8


class DamagedRecord(StoreError):
    """A record was altered or cut off."""

    exit_code = 18


class NewerRecord(StoreError):
    """A record was written by a later version, whose records this one does not know."""

    exit_code = 22


class NoSpace(ForgeBenchError):
    """A disk is full."""

    exit_code = 12


class NothingToCompare(ForgeBenchError):
    """The records that a comparison needs are not in the store."""

    exit_code = 9


class Interrupted(ForgeBenchError):
    """The user stopped the run; what was finished is stored."""

    exit_code = 130
