"""Percentiles of calls that were timed one by one.

| figure | what it is |
|---|---|
| `batch_p50_seconds`, `batch_p99_seconds`, `batch_p999_seconds` | what 50, 99 and 99.9 percent of batches do not exceed |
| `batch_max_seconds` | the slowest batch |
"""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

# Each percentile with the fewest batches that show it: ten of them are slower.
_PERCENTILES = {
    "batch_p50_seconds": (50.0, 20),
    "batch_p99_seconds": (99.0, 1_000),
    "batch_p999_seconds": (99.9, 10_000),
}


def figures(seconds: NDArray[np.float64]) -> Mapping[str, float]:
    """The figures of batches that took so long. A percentile is a time that was measured; too few batches show none."""
    shown = {name: share for name, (share, least) in _PERCENTILES.items() if seconds.size >= least}
    return {
        **{name: float(np.percentile(seconds, share, method="higher")) for name, share in shown.items()},
        "batch_max_seconds": float(seconds.max()),
    }
