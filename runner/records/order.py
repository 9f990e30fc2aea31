"""The order of records by age. A clock that made one may have been wrong."""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

from runner.records.record import Record

# Two machines that share a folder need not agree to the minute.
_MARGIN = timedelta(minutes=10)
Age = tuple[bool, datetime, str]


def oldest_first(records: Iterable[Record], *, now: datetime | None = None) -> list[Record]:
    """The records by age. Records dated after ``now`` come first, so that none of them counts as the newest.

    Args:
        records: in any order.
        now: a time with a zone; None is this machine's clock.
    """
    clock = now or datetime.now(UTC)
    return sorted(records, key=lambda record: age(record, now=clock))


def age(record: Record, *, now: datetime | None = None) -> Age:
    """The sort key of a record: the smaller, the older."""
    created = _created(record)
    return (created <= (now or datetime.now(UTC)) + _MARGIN, created, record.identifier)


def future_in_words(records: Iterable[Record], *, now: datetime | None = None) -> str | None:
    """A warning where records are dated after ``now``, or None."""
    clock = now or datetime.now(UTC)
    ahead = [created for created in map(_created, records) if created > clock + _MARGIN]
    if not ahead:
        return None
    they = "1 record is" if len(ahead) == 1 else f"{len(ahead)} records are"
    count = "it counts" if len(ahead) == 1 else "they count"
    return (
        f"{they} dated after this machine's clock ({clock:%Y-%m-%d %H:%M} UTC), the last {max(ahead):%Y-%m-%d}: "
        f"{count} as the oldest; set the clock, or run the cells again with --fresh"
    )


def _created(record: Record) -> datetime:
    """The time of the record, with its zone: times of any two zones can be compared."""
    return datetime.fromisoformat(record.created_at)
