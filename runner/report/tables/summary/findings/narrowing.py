"""Whether leads narrow as the work of a call grows: the common rule of several findings."""

from collections.abc import Iterable

from runner.report.tables.summary.findings.finding import Finding, together, unmeasured
from runner.report.tables.summary.findings.lead import Lead


def narrowing(claim: str, pairs: Iterable[tuple[Lead | None, Lead | None]], *, lacking: str) -> Finding:
    """The finding that every first lead is wider than the second.

    Args:
        claim: the finding.
        pairs: a lead at a small size, and the same at a large one. Pairs of which one is absent do not count.
        lacking: what would decide it, where no pair is whole.
    """
    whole = [(small, large) for small, large in pairs if small is not None and large is not None]
    if not whole:
        return unmeasured(claim, lacking)
    return Finding(
        claim=claim,
        outcome=together(small.wider_than(large) for small, large in whole),
        figures=tuple(str(lead) for pair in whole for lead in pair),
    )
