"""How a cell was executed: natively, emulated, or nobody said."""

from dataclasses import dataclass
from enum import Enum


class ExecutionKind(Enum):
    """Decided by whoever starts the container; nothing inside a container guesses it."""

    NATIVE = "native"
    EMULATED = "emulated"
    UNKNOWN = "unknown"


@dataclass(frozen=True, kw_only=True)
class Execution:
    """The kind, and the emulator's name and version where there is one and it is known."""

    kind: ExecutionKind
    emulator: str | None = None

    @property
    def emulated(self) -> bool:
        """Whether instructions are translated, so that times mean nothing beside native ones."""
        return self.kind is ExecutionKind.EMULATED

    @property
    def ranked(self) -> bool:
        """Whether times may be compared with other times: only where native execution is known."""
        return self.kind is ExecutionKind.NATIVE
