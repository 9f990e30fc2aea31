"""The results of ``tools.simulate_coverage``, which coverage.json keeps."""

import json
from dataclasses import dataclass
from pathlib import Path

KEPT = Path(__file__).parent / "coverage.json"
TRIALS = 2_000
RESAMPLES = 2_000


@dataclass(frozen=True, kw_only=True)
class Coverage:
    """Shares of trials in which the interval held the truth, for ``n`` processes drawn from ``model``.

    ``figure`` and ``ratio`` are the intervals in use; the ``expanded`` ones are the alternative.
    """

    model: str
    n: int
    figure: float
    ratio: float
    expanded_figure: float
    expanded_ratio: float


def kept() -> tuple[Coverage, ...]:
    """The committed results of the simulation."""
    return tuple(Coverage(**each) for each in json.loads(KEPT.read_text(encoding="utf-8")))
