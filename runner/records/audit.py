"""The audit on reading: what no seal can show, because anybody can seal an altered record again.

A rule is a pure function of one record. The runner holds itself to the rules when it writes, so a record that breaks
one was altered, or this runner never made it. docs/decisions/audit-on-reading.md says what no rule can see.
"""

from collections.abc import Sequence

from runner.records import (
    audit_counts,
    audit_dates,
    audit_differences,
    audit_episodes,
    audit_gate,
    audit_key,
    audit_limits,
    audit_names,
    audit_place,
    audit_process,
    audit_refereed,
    audit_returns,
    audit_times,
)
from runner.records.contradiction import Contradiction, Rule, contradiction
from runner.records.record import Record

RULES: tuple[Rule, ...] = (
    *audit_names.RULES,
    *audit_key.RULES,
    *audit_dates.RULES,
    *audit_process.RULES,
    *audit_counts.RULES,
    *audit_times.RULES,
    *audit_gate.RULES,
    *audit_differences.RULES,
    *audit_episodes.RULES,
    *audit_returns.RULES,
    *audit_limits.RULES,
    *audit_place.RULES,
    *audit_refereed.RULES,
)
_MOST_TOLD = 3


def audit(record: Record) -> tuple[Contradiction, ...]:
    """Every contradiction within a record; none where it could be what it says."""
    found: list[Contradiction] = []
    for rule in RULES:
        try:
            found.extend(rule(record))
        except (ArithmeticError, ValueError) as error:
            # A value that nothing can be worked out of, such as a date beyond the last year.
            name = rule.__module__.rpartition("_")[2]
            found.append(contradiction(f"{name} cannot be worked out: {error}"))
    return tuple(found)


def contradictions_in_words(found: Sequence[Contradiction]) -> str:
    """The first few of them, as one line."""
    more = f"; and {len(found) - _MOST_TOLD} more" if len(found) > _MOST_TOLD else ""
    return "; ".join(map(str, found[:_MOST_TOLD])) + more
