"""The words of a verification: old and new records in pairs, and the findings on them."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from enum import Enum

from runner.figures.statistics import Interval
from runner.records.record import Record
from runner.verify.images import Likeness

# A time or a peak of memory is reproduced where new over old lies within these bounds.
TOLERANCE = (0.8, 1.25)


class Verdict(Enum):
    """The verdict on a figure."""

    REPRODUCED = "reproduced"
    DIFFERS = "differs"
    INCONCLUSIVE = "inconclusive"


@dataclass(frozen=True, kw_only=True)
class Pair:
    """A record, and the new record of its cell; or why there is no new record.

    ``repeats`` are the records of later processes of the cell, which were started to narrow an interval.
    """

    old: Record
    new: Record | None
    why_not: str | None
    likeness: Likeness
    repeats: tuple[Record, ...] = ()

    def one_by_one(self) -> Iterator["Pair"]:
        """The old record with each new one: a repeat owes the same bytes and the same gate."""
        yield replace(self, repeats=())
        for record in self.repeats:
            yield replace(self, new=record, repeats=())


@dataclass(frozen=True, kw_only=True)
class Finding:
    """The verdict on one figure of one record.

    A figure that takes several processes is of all records of a cell (``seed`` is None). ``informational`` findings
    are shown and decide nothing. ``ratio`` is new over old with its interval. ``then`` and ``now`` are the two
    figures, in the unit of the metric's name. ``ranks`` are a rank then and now; the second is None where it may not be
    formed. ``too_wide`` says that the interval of today's processes decides nothing yet, and that more of them may.
    """

    figure: str
    verdict: Verdict
    why: str
    seed: int | None = None
    record: str | None = None
    informational: bool = False
    then: float | None = None
    now: float | None = None
    ratio: Interval | None = None
    ranks: tuple[Interval, Interval | None] | None = None
    too_wide: bool = False


@dataclass(frozen=True, kw_only=True)
class Judged:
    """The records of one cell at all its seeds, with their findings."""

    pairs: tuple[Pair, ...]
    findings: tuple[Finding, ...]

    @property
    def first(self) -> Record:
        """One of the records. They differ only in the seed."""
        return self.pairs[0].old

    @property
    def headline(self) -> str:
        """The metric that tables rank by; older records do not name it."""
        return self.first.work.headline if self.first.work else "headline"

    @property
    def processes(self) -> int:
        """How many processes gave the old figures."""
        return len({pair.old.seed for pair in self.pairs})


@dataclass(frozen=True, kw_only=True)
class Sides:
    """The records of a cell that passed on both sides, one old one for each seed.

    ``first`` are the new records beside the old ones; ``news`` has their repeats too.
    """

    olds: tuple[Record, ...]
    first: tuple[Record, ...]
    news: tuple[Record, ...]


def passed(pairs: Iterable[Pair]) -> Sides | None:
    """The old and the new records that passed; None where no pair passed on both sides."""
    found = {
        pair.old.seed: (pair.old, pair.new, pair.repeats)
        for pair in pairs
        if pair.new is not None and not pair.old.failed and not pair.new.failed
    }
    if not found:
        return None
    olds, first, repeats = zip(*found.values(), strict=True)
    again = [record for more in repeats for record in more if not record.failed]
    return Sides(olds=olds, first=first, news=(*first, *again))
