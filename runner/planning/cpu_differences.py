"""Whether a record's launch had the CPUs that one would have today: its content key says only how many were asked for."""

from runner.matrix import Limits
from runner.records.record import Record
from runner.system.cpus import CpuSet


def other_cpus(record: Record, limits: Limits, here: CpuSet) -> str | None:
    """Why the record is none of a launch on ``here``, or None. What a record does not hold is not held against it.

    Which CPUs they were does not count; how many, and how many cores were behind them, does.
    """
    applied = record.data["launch"]["limits"]
    if applied["cpuset"] is None:
        return None
    had = len(applied["cpuset"].split(","))
    if had < limits.cpus:
        return f"its record had {had} of the {limits.cpus} CPUs that its limits ask for"
    then, now = applied.get("siblings"), here.sibling_lists
    if then is None or now is None or _spare(then) == _spare(now):
        return None
    return f"other cores: {had} CPUs on {had - _spare(now)} cores, were on {had - _spare(then)}"


def _spare(siblings: list[str] | tuple[str, ...]) -> int:
    """How many CPUs are not a core of their own."""
    return sum(len(group.split(",")) - 1 for group in siblings)
