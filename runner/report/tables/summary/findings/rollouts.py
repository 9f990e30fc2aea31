"""Whether a whole rollout is faster too, by less than the best of its parts."""

from runner.report.tables.summary.declared import (
    ADVANTAGES,
    NUMPY_OR_GYMNASIUM,
    PUSH_SMALL,
    ROLLOUT,
    ROLLOUT_LARGE,
    SB3,
    STEPS,
)
from runner.report.tables.summary.findings.finding import Finding, together, unmeasured
from runner.report.tables.summary.findings.lead import ours_at, present, widest
from runner.report.tables.summary.places import Rooms

CLAIM = "A whole rollout is faster than SB3's, by less than the best of its parts"
_PARTS = ((STEPS, NUMPY_OR_GYMNASIUM), (PUSH_SMALL, SB3), (ADVANTAGES, NUMPY_OR_GYMNASIUM))


def rollouts(rooms: Rooms) -> Finding:
    """The lead at the largest rollout that was run, beside the widest of its parts."""
    measured = present(ours_at(rooms, line, SB3) for line in (ROLLOUT_LARGE, ROLLOUT))
    parts = present(ours_at(rooms, line, base) for line, base in _PARTS)
    if not measured or not parts:
        return unmeasured(
            CLAIM, "it needs ranked ratios of rollout against sb3, and of env-vector, buffer-push or gae"
        )
    rollout, best = measured[0], widest(parts)
    return Finding(
        claim=CLAIM,
        outcome=together((rollout.faster, best.wider_than(rollout))),
        figures=(str(rollout), str(best)),
    )
