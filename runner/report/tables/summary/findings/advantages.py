"""Whether advantages have the widest lead over Python of all operations."""

from runner.report.tables.summary.declared import ADVANTAGES, NUMPY_OR_GYMNASIUM, OPERATIONS
from runner.report.tables.summary.findings.finding import Finding, Outcome, together, unmeasured
from runner.report.tables.summary.findings.lead import ours_at, present, widest
from runner.report.tables.summary.places import Rooms

CLAIM = "Advantages (GAE) have the widest lead over NumPy and Gymnasium"


def advantages(rooms: Rooms) -> Finding:
    """The lead at GAE beside the widest of the other operations in the first table.

    One wider lead refutes the finding. It holds only where every benchmark of that table was measured.
    """
    lead = ours_at(rooms, ADVANTAGES, NUMPY_OR_GYMNASIUM)
    others = present(
        ours_at(rooms, line, NUMPY_OR_GYMNASIUM) for line in OPERATIONS.lines if line is not ADVANTAGES
    )
    measured = {each.benchmark for each in others}
    lacking = dict.fromkeys(
        line.benchmark
        for line in OPERATIONS.lines
        if line.benchmark not in measured and line is not ADVANTAGES
    )
    if lead is None:
        return unmeasured(CLAIM, f"it needs a ranked ratio of {ADVANTAGES.benchmark} {ADVANTAGES.case}")
    outcome = together(lead.wider_than(other) for other in others)
    if lacking and outcome is not Outcome.FAILS:
        return unmeasured(CLAIM, f"it also needs ranked ratios of {', '.join(lacking)}")
    return Finding(claim=CLAIM, outcome=outcome, figures=(str(lead), str(widest(others))))
