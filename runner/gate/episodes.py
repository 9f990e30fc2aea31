"""Episodes: read within bounds, and checked to follow one another without a gap."""

import json
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec import ValidationError, convert

from runner.gate.check import Check, Refused
from runner.records.failure import FailureKind
from runner.records.measured import Episode, Episodes
from runner.system.bounded_reading import read_bounded

_LARGEST = 64 * 2**20


def read_episodes(path: Path) -> tuple[Episode, ...]:
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
    # Values that do not fit into a record are refused here.
    try:
        return convert([_as_recorded(each) for each in found], Episodes)
    except ValidationError as error:
        raise Refused(FailureKind.UNREADABLE_OUTPUT, f"{path.name}: {error}") from error


def _as_recorded(episode: Mapping[str, Any]) -> dict[str, Any]:
    """A program may write 20.0 for twenty steps, and 20 for a return of 20.0. A record holds each in one form."""
    written = {
        name: int(value) if type(value) is float and value.is_integer() else value
        for name, value in episode.items()
    }
    total = written["return"]
    return {**written, "return": float(total) if type(total) is int else total}


def check_episodes(episodes: Sequence[Episode], *, environments: int, total: int | None) -> Check:
    """Whether every environment's episodes follow one another, in the order in which they ended.

    Args:
        episodes: as a record holds them. Environments that play side by side share the count of steps: their i-th
            step is step ``i * environments`` of the first, one more of the next.
        environments: how many there are.
        total: the steps of all environments together; None where they are not counted.
    """
    played: Counter[int] = Counter()
    previous = -1
    for index, episode in enumerate(episodes):
        step, length = episode.step, episode.length
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
