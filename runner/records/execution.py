"""How a cell was executed: natively, emulated, or nobody said."""

from enum import Enum

from runner.records.part import Part


class ExecutionKind(Enum):
    """Decided by whoever starts the container; nothing inside a container guesses it."""

    NATIVE = "native"
    EMULATED = "emulated"
    UNKNOWN = "unknown"


class Execution(Part, frozen=True, kw_only=True):
    """The kind, and the emulator's name and version; null where there is none or it is not known."""

    kind: ExecutionKind
    emulator: str | None

    @property
    def emulated(self) -> bool:
        """Whether instructions are translated, so that times mean nothing beside native ones."""
        return self.kind is ExecutionKind.EMULATED

    @property
    def ranked(self) -> bool:
        """Whether times may be compared with other times: only where native execution is known."""
        return self.kind is ExecutionKind.NATIVE
