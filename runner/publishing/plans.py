"""The plans of a ledger, each with what became of it."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from runner.records.ledger.lines import EndLine, LaunchLine, Line, PlanLine, RemovedLine


@dataclass(frozen=True, kw_only=True)
class Ended:
    """A launch that ended. ``removed`` tells that ``clean --records`` removed its records later."""

    line: LaunchLine
    removed: bool


@dataclass(frozen=True, kw_only=True)
class Begun:
    """A plan that was begun. ``end`` is None where it was interrupted, and while it runs."""

    line: PlanLine
    launches: tuple[Ended, ...]
    end: EndLine | None

    @property
    def keys(self) -> frozenset[str]:
        """The content keys of all cells that it was to run, and of those that a rule added."""
        planned = (key for launch in self.line.launches for key in launch.keys)
        return frozenset(planned).union(*(each.line.keys for each in self.launches))

    def facts(self) -> dict[str, Any]:
        """What a publication lists of it."""
        line, end = self.line, self.end
        return {
            "plan": line.plan,
            "begun": line.time,
            "ended": end.time if end else None,
            "outcome": end.outcome if end else None,
            "commit": line.commit,
            "dirty": line.dirty,
            "profile": line.profile,
            "planned": len(line.launches),
            "launches": len(self.launches),
            "void": sum(each.line.void is not None for each in self.launches),
            "failed_cells": sum(len(each.line.failures) for each in self.launches),
            "removed": sum(each.removed for each in self.launches),
        }


def plans_of(lines: Sequence[Line]) -> tuple[Begun, ...]:
    """Every plan of a ledger, in the order in which they were begun."""
    last_removal = max(
        (index for index, line in enumerate(lines) if isinstance(line, RemovedLine)), default=-1
    )
    launches: dict[str, list[Ended]] = {}
    ends: dict[str, EndLine] = {}
    for index, line in enumerate(lines):
        if isinstance(line, LaunchLine):
            launches.setdefault(line.plan, []).append(Ended(line=line, removed=index < last_removal))
        elif isinstance(line, EndLine):
            ends[line.plan] = line
    return tuple(
        Begun(line=line, launches=tuple(launches.get(line.plan, ())), end=ends.get(line.plan))
        for line in lines
        if isinstance(line, PlanLine)
    )


def records_of(plans: Iterable[Begun], keys: frozenset[str]) -> dict[str, Begun]:
    """The content hash of each record that whole launches of these cells gave, with its plan.

    A launch that was given up between two records is not whole, and launches whose records were removed give none.
    """
    return {
        seal: plan
        for plan in plans
        for launch in plan.launches
        if keys & set(launch.line.keys) and not launch.removed and launch.line.void is None
        for seal in launch.line.records
    }


def keys_of(plans: Iterable[Begun]) -> frozenset[str]:
    """The content keys of all cells of these plans."""
    return frozenset(key for plan in plans for key in plan.keys)


def touching(plans: Iterable[Begun], keys: frozenset[str]) -> tuple[Begun, ...]:
    """The plans that were to run one of these cells."""
    return tuple(each for each in plans if each.keys & keys)
