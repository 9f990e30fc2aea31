"""Why a cell failed: a closed list, so that a table shows a reason and never a silent gap."""

from dataclasses import dataclass
from enum import Enum


class FailureKind(Enum):
    """The typed reasons."""

    EXIT_CODE = "exit-code"
    SIGNAL = "signal"
    OUT_OF_MEMORY = "out-of-memory"
    DEADLINE = "deadline"
    NOT_STARTED = "not-started"
    TOO_MUCH_OUTPUT = "too-much-output"
    MALFORMED_OUTPUT = "malformed-output"
    MISSING_MEASUREMENT = "missing-measurement"
    DOUBLED_MEASUREMENT = "doubled-measurement"
    NOT_FINITE = "not-finite"
    IMPOSSIBLE_TIME = "impossible-time"
    WRONG_COUNTS = "wrong-counts"
    MISSING_METRIC = "missing-metric"
    MISSING_OUTPUT = "missing-output"
    UNREADABLE_OUTPUT = "unreadable-output"
    WRONG_OUTPUT = "wrong-output"
    NO_REFERENCE = "no-reference"


@dataclass(frozen=True, kw_only=True)
class Failure:
    """A reason and the one line that explains it."""

    kind: FailureKind
    detail: str
