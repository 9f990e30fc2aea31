"""Why a run was started, as its ledger keeps it."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, kw_only=True)
class Occasion:
    """What a plan alone does not say of the call that made it.

    Attributes:
        version: of the runner.
        commit: of the runner's checkout; None where that is unknown.
        dirty: whether the checkout differed from its commit; None where that is unknown.
        matrix_sha256: the hash of the matrix file; None where the plan came from records.
        options: what the command line selected.
    """

    version: str = "unknown"
    commit: str | None = None
    dirty: bool | None = None
    matrix_sha256: str | None = None
    options: Mapping[str, str | bool | tuple[str, ...]] = field(default_factory=dict)


# Of a run whose caller says nothing.
UNKNOWN = Occasion()
