"""Episodes: read within bounds, and checked to follow one another without a gap."""

import re
from collections.abc import Sequence
from pathlib import Path

from msgspec import DecodeError, ValidationError, convert, field
from msgspec.json import decode

from runner.gate.check import Check, Refused
from runner.records.failure import FailureKind
from runner.records.measured import MOST_EPISODES, Episode
from runner.records.part import Part
from runner.records.verdicts import episodes_verdict
from runner.system.bounded_reading import read_bounded

_LARGEST = 64 * 2**20
# In the place of a value: JSON has no other word that begins so.
_NOT_FINITE = re.compile(rb":\s*-?(NaN|Infinity)")
_LARGEST_WHOLE = 10**300


def read_episodes(path: Path) -> tuple[Episode, ...]:
    """The episodes of a file, as a record holds them.

    Raises:
        Refused: there are none, or they are not what a record can hold.
    """
    if path.is_symlink() or not path.is_file():
        raise Refused(FailureKind.MISSING_OUTPUT, f"{path.name} was not written")
    try:
        text = read_bounded(path, _LARGEST)
    except OSError as error:
        raise Refused(FailureKind.UNREADABLE_OUTPUT, f"{path.name}: {error.strerror or error}") from error
    # No name that an episode has holds a brace, so that this counts them before any is made.
    if text.count(b"{") > MOST_EPISODES:
        raise Refused(FailureKind.UNREADABLE_OUTPUT, f"{path.name} holds more than {MOST_EPISODES} episodes")
    # Values that do not fit into a record are refused here.
    try:
        # Never as objects of Python first: those take many times as much memory as the file.
        return tuple(map(_as_recorded, decode(text, type=list[_Written])))
    except (DecodeError, RecursionError) as error:
        # JSON has no word for either, and a number may be too large for any float.
        if _NOT_FINITE.search(text) or ".return" in str(error).partition("out of range")[2]:
            raise Refused(FailureKind.NOT_FINITE, f"{path.name}: NaN or infinity in a return") from error
        raise Refused(
            FailureKind.UNREADABLE_OUTPUT,
            f'{path.name} is not a list of {{"step", "length", "return"}}: {error}',
        ) from error


class _Written(Part, frozen=True, kw_only=True, gc=False):
    """An episode as a program may write it: 20.0 for twenty steps, and 20 for a return of 20.0."""

    step: int | float
    length: int | float
    total: int | float = field(name="return")


def _as_recorded(episode: _Written) -> Episode:
    """A record holds each in one form."""
    total = episode.total
    if isinstance(total, int) and abs(total) > _LARGEST_WHOLE:
        raise ValidationError("a return is larger than any float")
    return convert(
        {"step": _whole(episode.step), "length": _whole(episode.length), "return": float(total)}, Episode
    )


def _whole(value: float) -> float:
    return int(value) if isinstance(value, float) and value.is_integer() else value


def check_episodes(episodes: Sequence[Episode], *, environments: int, total: int | None) -> Check:
    """Whether every environment's episodes follow one another, in the order in which they ended.

    Args:
        episodes: as a record holds them. Environments that play side by side share the count of steps: their i-th
            step is step ``i * environments`` of the first, one more of the next.
        environments: how many there are.
        total: the steps of all environments together; None where they are not counted.
    """
    return Check.of("episodes", episodes_verdict(episodes, environments=environments, total=total))
