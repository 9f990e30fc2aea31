"""How a cell was executed: natively, emulated, or unknown."""

from enum import Enum

from runner.records.part import Part


class ExecutionKind(Enum):
    """The execution of a cell.

    The program that starts the container decides it; nothing inside a container guesses it.
    """

    NATIVE = "native"
    EMULATED = "emulated"
    UNKNOWN = "unknown"


class Execution(Part, frozen=True, kw_only=True):
    """The kind, and the emulator's name and version; null where there is none or it is not known."""

    kind: ExecutionKind
    emulator: str | None

    @property
    def emulated(self) -> bool:
        """Whether instructions are translated, so that times cannot be compared with native times."""
        return self.kind is ExecutionKind.EMULATED

    @property
    def ranked(self) -> bool:
        """Whether times may be compared with other times. They may only where the execution is known to be native."""
        return self.kind is ExecutionKind.NATIVE
