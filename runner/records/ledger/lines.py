"""The lines of a ledger, as types.

Each line is canonical JSON and holds the SHA-256 of the line before it.
"""

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from runner.records.image import ImageFacts
from runner.records.part import Amount, DateTime, Hash, Name, Part
from runner.system.schema_rules import is_date_time

# What the first line of a ledger holds as the hash of the line before it.
FIRST = "0" * 64
Commit = Annotated[str, Meta(pattern=r"^[0-9a-f]{40}\Z")]
_Text = Annotated[str, Meta(max_length=1000)]


class _Line(Part, frozen=True, kw_only=True, tag_field="kind"):
    """What every line holds. ``previous`` is the hash of the line before, ``time`` when the line was written."""

    previous: Hash
    time: DateTime

    def __post_init__(self) -> None:
        """Check that ``time`` is a time."""
        if not is_date_time(self.time):
            raise ValueError("time is no date and time with a zone")


class PlannedLaunch(Part, frozen=True, kw_only=True):
    """A launch that a plan means to start: its name for people, and the content key of each of its cells."""

    name: _Text
    keys: Annotated[tuple[Hash, ...], Meta(min_length=1)]


class PlanLine(_Line, frozen=True, kw_only=True, tag="plan"):
    """A plan was begun.

    Attributes:
        plan: its identifier.
        version: of the runner.
        commit: the commit of the runner's checkout; null where that is unknown.
        dirty: whether the checkout differed from its commit; null where that is unknown.
        matrix_sha256: the hash of the matrix file; null where there was none.
        secret_sha256: the hash of the secret that all nonces of the plan follow from.
        profile: the profile that is run.
        executor: docker or local.
        options: what the command line selected.
        images: the images that its cells need, but for those that an ``ImagesLine`` names.
        launches: what it will start, in this order.
        reused: how many cells have a record already.
    """

    plan: Name
    version: _Text
    commit: Commit | None
    dirty: bool | None
    matrix_sha256: Hash | None
    secret_sha256: Hash
    profile: Name
    executor: _Text
    options: dict[str, str | bool | tuple[str, ...]]
    images: tuple[ImageFacts, ...]
    launches: tuple[PlannedLaunch, ...]
    reused: Amount


class ImagesLine(_Line, frozen=True, kw_only=True, tag="images"):
    """Images of a plan that were prepared after its first launches: launches that follow need them."""

    plan: Name
    images: tuple[ImageFacts, ...]


class LaunchLine(_Line, frozen=True, kw_only=True, tag="launch"):
    """A launch ended.

    Attributes:
        plan: the plan's identifier.
        launch: the identifier that its records name; null where it was given up before it had one.
        keys: the content key of each of its cells.
        records: the content hash of each record that it gave, those of failed cells too.
        failures: the failure kind of each cell that failed, by its key.
        void: why cells have no record; null where each has one.
    """

    plan: Name
    launch: _Text | None
    keys: tuple[Hash, ...]
    records: tuple[Hash, ...]
    failures: dict[Hash, _Text]
    void: _Text | None


class EndLine(_Line, frozen=True, kw_only=True, tag="end"):
    """A plan ended. ``opening`` is the secret that its first line holds the hash of, and ``why`` what stopped it."""

    plan: Name
    outcome: Literal["done", "stopped"]
    why: _Text | None
    opening: Hash


class CutLine(_Line, frozen=True, kw_only=True, tag="cut"):
    """The line before was followed by the beginning of another, which lies in the file ``kept_as`` now."""

    bytes: Amount
    sha256: Hash
    kept_as: _Text


class RemovedLine(_Line, frozen=True, kw_only=True, tag="removed"):
    """``clean --records`` removed all records that the store held: so many."""

    records: Amount


Line = PlanLine | ImagesLine | LaunchLine | EndLine | CutLine | RemovedLine


def line_of(text: bytes) -> Line:
    """The line that ``text`` is.

    Raises:
        ValueError: it is none; the message says where.
    """
    found: Line = msgspec.json.decode(text, type=Line)
    return found
