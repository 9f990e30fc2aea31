"""Tapes: inputs longer than a call needs. A call's number chooses the part that it reads, so no earlier answer helps."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from baselines.contract.numbers import Numbers

# A call begins at one of so many places of each tape.
PLACES = 4096
_PLACE_BITS = 32


def longer(*, stride: int) -> int:
    """How many values a tape has beyond those of one call, where two places lie ``stride`` values apart."""
    return PLACES * stride


def places(numbers: Numbers, tape: int) -> list[int]:
    """Which place of a tape each call begins at. The first two tapes have 32 bits of a number each."""
    chosen = (numbers >> np.uint64(_PLACE_BITS * tape)) % np.uint64(PLACES)
    found: list[int] = chosen.tolist()
    return found


def pieces(tape: NDArray[Any], count: int, *, stride: int) -> Sequence[NDArray[Any]]:
    """What a call of ``count`` values reads from each place on. Making a view costs as much as a call."""
    return [tape[place * stride : place * stride + count] for place in range(PLACES)]
