"""The findings of the gate: the comparisons that it made, and the outputs that it cannot judge."""

from dataclasses import dataclass

from runner.records.failure import Failure, FailureKind
from runner.records.verdicts import Verdict
from runner.system.printable import one_line

_LONGEST_DETAIL = 500


@dataclass(frozen=True, kw_only=True)
class Check:
    """One comparison: its subject, whether it passed, and the figures that decided.

    ``share`` is the largest difference divided by the allowed difference, so 1 is the bound. Other checks have no
    share.
    """

    check: str
    passed: bool
    detail: str
    share: float | None = None

    @classmethod
    def of(cls, check: str, verdict: Verdict) -> "Check":
        """A check that figures alone decide."""
        return cls(check=check, passed=verdict.passed, detail=verdict.detail)

    def or_worse(self, other: "Check | None") -> "Check":
        """Of two comparisons of the same thing the one that failed, or the one that came nearer to its bound."""
        if other is None or (other.passed and not self.passed):
            return self
        if other.passed == self.passed and (self.share or 0.0) > (other.share or 0.0):
            return self
        return other


class Refused(Exception):
    """An output that cannot be judged at all."""

    def __init__(self, kind: FailureKind, detail: str) -> None:
        super().__init__(detail)
        # An implementation may give tensors any names.
        self.failure = Failure(kind=kind, detail=one_line(detail, _LONGEST_DETAIL))
