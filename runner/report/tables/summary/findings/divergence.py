"""Whether a batch of long sequences is where PyTorch overtakes ours at the divergence of tokens."""

from runner.report.tables.summary.declared import PYTORCH
from runner.report.tables.summary.findings.finding import Finding, together, unmeasured
from runner.report.tables.summary.findings.lead import ours_over, present
from runner.report.tables.summary.places import Rooms

CLAIM = "At the divergence of tokens ours is faster for one sequence, and PyTorch for 32 of 2,048 tokens"
_BENCHMARK, _BATCH = "token-kl", "k3-32x2048"
_SINGLE = ("k3-1x128", "k3-1x512", "k3-1x2048", "k3-1x8192")


def divergence(rooms: Rooms) -> Finding:
    """The lead for single sequences, and for the largest batch."""
    singles = present(ours_over(rooms, _BENCHMARK, case, PYTORCH) for case in _SINGLE)
    batch = ours_over(rooms, _BENCHMARK, _BATCH, PYTORCH)
    if not singles or batch is None:
        return unmeasured(
            CLAIM, f"it needs ranked ratios of {_BENCHMARK} {_BATCH} and of a single sequence against pytorch"
        )
    return Finding(
        claim=CLAIM,
        outcome=together([*(lead.faster for lead in singles), batch.faster.opposite]),
        figures=tuple(map(str, (*singles, batch))),
    )
