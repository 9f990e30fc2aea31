"""Which commit of the runner's checkout made a record, as the plans of a ledger say."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from runner.records.ledger.lines import LaunchLine, Line, PlanLine


@dataclass(frozen=True, kw_only=True)
class Source:
    """The checkout that a plan was run from; ``changed`` is whether its files differed from the commit's."""

    commit: str
    changed: bool


def sources_of(lines: Iterable[Line]) -> Mapping[str, Source]:
    """The checkout behind each record, by the record's content hash. Records of an unknown commit have none."""
    plans: dict[str, Source] = {}
    found: dict[str, Source] = {}
    for line in lines:
        if isinstance(line, PlanLine) and line.commit is not None:
            plans[line.plan] = Source(commit=line.commit, changed=bool(line.dirty))
        elif isinstance(line, LaunchLine) and line.plan in plans:
            found |= dict.fromkeys(line.records, plans[line.plan])
    return found
