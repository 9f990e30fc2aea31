"""Whether advantages within groups are faster than TRL's way in PyTorch, by less as batches grow."""

from runner.report.tables.summary.declared import PYTORCH
from runner.report.tables.summary.findings.finding import Finding, together, unmeasured
from runner.report.tables.summary.findings.lead import ours_over, present
from runner.report.tables.summary.places import Rooms

CLAIM = "GRPO advantages are faster than TRL's way in PyTorch, by less as batches grow"
_CASES = ("16x4", "64x8", "256x16", "1024x32")


def groups(rooms: Rooms) -> Finding:
    """The lead at each size, and the first beside the last."""
    leads = present(ours_over(rooms, "grpo", case, PYTORCH) for case in _CASES)
    if len(leads) < len(_CASES):
        return unmeasured(CLAIM, "it needs a ranked ratio of every case of grpo against pytorch")
    return Finding(
        claim=CLAIM,
        outcome=together([*(lead.faster for lead in leads), leads[0].wider_than(leads[-1])]),
        figures=tuple(map(str, leads)),
    )
