"""The dates: a record is sealed when its launch has ended, and no launch outlives its deadline."""

from collections.abc import Iterator
from datetime import datetime, timedelta

from runner.records.contradiction import Contradiction, Rule, contradiction
from runner.records.record import Record

# The dates are whole microseconds, and the duration is a float.
_ROUNDING = timedelta(milliseconds=1)
# The runner dates the seal by the clock of its own process, so that only the gate's work lies between.
_LONGEST_JUDGING = timedelta(days=1)
# The runner looks at a launch once a second, and a busy machine looks late.
_LATE_SECONDS = 60.0


def order(record: Record) -> Iterator[Contradiction]:
    """First the launch starts, then it ends, then the record is sealed."""
    ended = datetime.fromisoformat(record.launch.started_at) + timedelta(seconds=_seconds(record))
    sealed = datetime.fromisoformat(record.created_at)
    if sealed < ended - _ROUNDING:
        yield contradiction(
            f"it was sealed at {record.created_at}, before its launch ended at {ended.isoformat()}", *_DATES
        )
    elif sealed > ended + _LONGEST_JUDGING:
        yield contradiction(
            f"it was sealed at {record.created_at}, more than a day after its launch ended at {ended.isoformat()}",
            *_DATES,
        )


def deadline(record: Record) -> Iterator[Contradiction]:
    """A launch that goes on beyond its deadline is killed, and that is its failure."""
    lived, deadline_seconds = record.launch.wall_seconds, record.launch.deadline_seconds
    if not record.failure and lived > deadline_seconds + _LATE_SECONDS:
        yield contradiction(
            f"the launch passed and lived {lived:.6g} s, with a deadline of {deadline_seconds:g} s",
            *("launch.wall_seconds", "launch.deadline_seconds", "failure"),
        )


_DATES = ("created_at", "launch.started_at", "launch.wall_seconds")


def _seconds(record: Record) -> float:
    # A date ends with the year 9999. Longer durations are refused by other rules.
    return min(float(record.launch.wall_seconds), 1e9)


RULES: tuple[Rule, ...] = (
    order,
    deadline,
)
