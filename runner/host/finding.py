"""The finding of one check of the host, and the exit code of all findings."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from typing import Any

from runner.host.step import Step
from runner.system.errors import ForgeBenchError, HostNotReady


class State(Enum):
    """The result of a check."""

    OK = "ok"
    MISSING = "missing"
    WARNING = "warning"
    # The check could not be made, or has no meaning here; ``why`` says which.
    SKIPPED = "skipped"


@dataclass(frozen=True, kw_only=True)
class Finding:
    """One check's result.

    Attributes:
        check: what was looked at.
        state: how it stands.
        found: what was found, in a few words.
        why: what that means for a run; empty where all is well.
        commands: exact commands that put it right, in their order; empty where none is known.
        steps: those of the commands that setup may run by itself.
        advice: what else to do about it, in words.
        error: what a run would end with.
    """

    check: str
    state: State
    found: str
    why: str = ""
    commands: tuple[str, ...] = ()
    steps: tuple[Step, ...] = ()
    advice: str = ""
    error: type[ForgeBenchError] = HostNotReady

    def as_json(self) -> dict[str, Any]:
        """The finding as values of JSON."""
        return {
            "check": self.check,
            "state": self.state.value,
            "found": self.found,
            "why": self.why,
            "commands": list(self.commands),
            "advice": self.advice,
            "exit_code": self.error.exit_code if self.state is State.MISSING else None,
        }


def exit_code(findings: Iterable[Finding]) -> int:
    """0 where nothing is missing; else the code that a run would end with, or HostNotReady's for several kinds."""
    codes = {each.error.exit_code for each in findings if each.state is State.MISSING}
    if not codes:
        return 0
    return codes.pop() if len(codes) == 1 else HostNotReady.exit_code


def skipped(check: str, why: str) -> Finding:
    """A check that could not be made, or that has no meaning here."""
    return Finding(check=check, state=State.SKIPPED, found="not looked at", why=why)
