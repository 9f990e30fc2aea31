"""What the last run of a store did not get to."""

from dataclasses import dataclass
from pathlib import Path

from runner.records.ledger.file import read_ledger
from runner.records.ledger.lines import EndLine, LaunchLine, PlanLine


@dataclass(frozen=True, kw_only=True)
class Interrupted:
    """The content keys that an interrupted plan meant to run: all, and those that it has records of."""

    planned: frozenset[str] = frozenset()
    done: frozenset[str] = frozenset()

    @property
    def left(self) -> frozenset[str]:
        """What it did not get to."""
        return self.planned - self.done


def interrupted_plan(path: Path) -> Interrupted:
    """The last plan of a ledger, where it was interrupted: it has no end line, and nobody knows its secret.

    Raises:
        DamagedLedger: the ledger cannot be read.
    """
    lines = read_ledger(path).lines
    last = next((line for line in reversed(lines) if isinstance(line, PlanLine)), None)
    if last is None or any(isinstance(line, EndLine) and line.plan == last.plan for line in lines):
        return Interrupted()
    launched = [line for line in lines if isinstance(line, LaunchLine) and line.plan == last.plan]
    return Interrupted(
        planned=frozenset(key for launch in last.launches for key in launch.keys),
        done=frozenset(key for line in launched if line.records for key in line.keys),
    )
