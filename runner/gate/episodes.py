"""Episodes: read within bounds, and checked to follow one another without a gap."""

import json
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from runner.gate.check import Check, Refused
from runner.records.failure import FailureKind
from runner.records.record import SCHEMA
from runner.system.bounded_reading import read_bounded
from runner.system.schema import schema

_LARGEST = 64 * 2**20


def read_episodes(path: Path) -> tuple[dict[str, Any], ...]:
    """The episodes of a file, as a record holds them.

    Raises:
        Refused: there are none, or they are not what a record can hold.
    """
    if path.is_symlink() or not path.is_file():
        raise Refused(FailureKind.MISSING_OUTPUT, f"{path.name} was not written")
    try:
        found = json.loads(read_bounded(path, _LARGEST))
        finite = all(not isinstance(each["return"], float) or math.isfinite(each["return"]) for each in found)
    except (OSError, ValueError, TypeError, KeyError, RecursionError) as error:
        raise Refused(
            FailureKind.UNREADABLE_OUTPUT, f'{path.name} is not a list of {{"step", "length", "return"}}'
        ) from error
    if not finite:
        raise Refused(FailureKind.NOT_FINITE, f"{path.name}: NaN or infinity in a return")
    # What does not fit into a record must not get as far as one.
    allowed = schema(SCHEMA, "episodes")
    if not allowed.allows(found):
        raise Refused(FailureKind.UNREADABLE_OUTPUT, f"{path.name}: {allowed.why_not(found)}")
    return tuple(
        {"step": int(each["step"]), "length": int(each["length"]), "return": float(each["return"])}
        for each in found
    )


def check_episodes(episodes: Sequence[Mapping[str, Any]], *, environments: int, total: int | None) -> Check:
    """Whether every environment's episodes follow one another, in the order in which they ended.

    Args:
        episodes: as a record holds them. Environments that play side by side share the count of steps: their i-th
            step is step ``i * environments`` of the first, one more of the next.
        environments: how many there are.
        total: the environment steps that were taken, of all together; None where nobody counts them.
    """
    played: Counter[int] = Counter()
    previous = -1
    for index, episode in enumerate(episodes):
        step, length = episode["step"], episode["length"]
        environment = step % environments
        played[environment] += length
        expected = (played[environment] - 1) * environments + environment
        fault = None
        if length < 1 or step != expected:
            fault = f"ends at step {step}, its lengths add up to {expected}"
        elif step <= previous:
            fault = f"ends at step {step}, before the one that is listed before it"
        if fault is not None:
            return Check(check="episodes", passed=False, detail=f"episode {index} {fault}")
        previous = step
    if total is not None and previous >= total:
        return Check(check="episodes", passed=False, detail=f"they run past {total} environment steps")
    return Check(check="episodes", passed=True, detail=f"{len(episodes)} episodes without a gap")
