"""Whether a record's launch had the CPUs that a launch has today. The content key holds only the number asked for."""

from collections.abc import Iterable

from msgspec import UNSET, UnsetType

from runner.matrix import Limits
from runner.records.place import LimitsInForce
from runner.records.record import Record
from runner.system.cpus import CpuSet


def other_cpus(record: Record, limits: Limits, here: CpuSet) -> str | None:
    """The reason why the record cannot stand for a launch on ``here``, or None.

    The number of CPUs and the number of their cores count; the CPUs' own numbers do not. An unknown fact of the record
    is no reason.
    """
    applied = record.launch.limits
    had = _count(applied)
    if had is not None and had < limits.cpus:
        return f"its record had {had} of the {limits.cpus} CPUs that its limits ask for"
    siblings = UNSET if here.sibling_lists is None else here.sibling_lists
    return _other_cores(applied, siblings)


def unlike_cpus(then: LimitsInForce, now: LimitsInForce) -> str | None:
    """The reason why times under the two limits cannot be compared, or None."""
    had, has = _count(then), _count(now)
    if had is not None and has is not None and had != has:
        return f"other CPUs: {has}, were {had}"
    return _other_cores(then, now.siblings)


def _other_cores(then: LimitsInForce, siblings: tuple[str, ...] | UnsetType) -> str | None:
    had = _count(then)
    if had is None or then.siblings is UNSET or siblings is UNSET:
        return None
    before, after = had - _spare(then.siblings), had - _spare(siblings)
    return None if before == after else f"other cores: {had} CPUs on {after} cores, were on {before}"


def _count(applied: LimitsInForce) -> int | None:
    return None if applied.cpuset is None else len(applied.cpuset.split(","))


def _spare(siblings: Iterable[str]) -> int:
    """The number of CPUs beyond one a core."""
    return sum(len(group.split(",")) - 1 for group in siblings)
