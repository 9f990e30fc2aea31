"""The figures of a record: a launch's measurements and the gate's checks."""

from typing import Annotated, Literal

from msgspec import Meta, field

from runner.records.part import Amount, AnyFigure, Bound, Figure, FigureName, Name, Part

_Repetitions = Annotated[tuple[Figure, ...], Meta(min_length=1, max_length=1_000_000)]
_Peak = Annotated[int, Meta(ge=1, le=2**53 - 1)]


class Memory(Part, frozen=True, kw_only=True):
    """Peak memory in bytes: of the process, and of its control group; null where unknown."""

    vmhwm_bytes: _Peak | None
    cgroup_peak_bytes: _Peak | None


class Measurement(Part, frozen=True, kw_only=True):
    """The measurement of one cell. measurement.schema.json explains each part."""

    event: Literal["measurement"]
    case: Name
    metrics: Annotated[dict[FigureName, Figure | _Repetitions], Meta(min_length=1, max_length=1000)]
    counts: Annotated[dict[FigureName, Amount], Meta(min_length=1, max_length=1000)]
    memory: Memory


class Episode(Part, frozen=True, kw_only=True, gc=False):
    """One played episode: the step at which it ended, its length in steps, and its return."""

    step: Amount
    length: Amount
    total: AnyFigure = field(name="return")


MOST_EPISODES = 1_000_000
Episodes = Annotated[tuple[Episode, ...], Meta(max_length=MOST_EPISODES)]


class GateCheck(Part, frozen=True, kw_only=True):
    """One comparison that the gate made.

    ``share`` is the largest difference over what is allowed; null where the check is not one of differences.
    """

    check: str
    passed: bool
    detail: str
    share: Bound | None


class CellFailure(Part, frozen=True, kw_only=True):
    """Why the cell failed. The kind may be one that only a later version knows."""

    kind: Annotated[str, Meta(pattern=r"^[a-z][a-z0-9-]{0,39}\Z")]
    detail: str
