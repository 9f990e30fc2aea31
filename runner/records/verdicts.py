"""What the gate concludes from figures alone: the same words for who judges a launch and for who reads its record."""

from collections import Counter
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from itertools import accumulate
from operator import attrgetter, ge
from typing import Any, NamedTuple

from runner.records.measured import Episode
from runner.records.refereed import MOST_TIMES_THE_KNOWN, FinalWeights

# Checks of a training with a seed that nobody knew.
AUDITS = frozenset({"audit", "audit replay", "gymnasium"})
# Checks that are of no output file.
OF_NO_FILE = frozenset(
    {
        *("counts", "times", "digest", "window", "episodes"),
        *("replay", *AUDITS),
    }
)
# A repetition is the difference of two readings of a clock of whole nanoseconds. Dividing by the number of calls may
# have rounded it down.
_LEAST_SECONDS = 1e-9 * (1 - 1e-6)
_STEP, _LENGTH = attrgetter("step"), attrgetter("length")


class Verdict(NamedTuple):
    """Whether a check passes, and the figures that decide it in words."""

    passed: bool
    detail: str


def calls_of(parameters: Mapping[str, Any]) -> int:
    """How many calls a repetition has."""
    return int(parameters.get("calls", 1))


def claimed_seconds(value: tuple[float, ...] | float | None, *, calls: int) -> float:
    """All that a headline claims: several figures are the seconds of a call, one for each repetition."""
    return sum(value) * calls if isinstance(value, tuple) else float(value or 0.0)


def counts_verdict(expected: Mapping[str, int], printed: Mapping[str, Any]) -> Verdict:
    """Whether the printed counts are the expected ones."""
    wrong = [
        f"{name} is {printed.get(name, 'missing')}, must be {count}"
        for name, count in expected.items()
        if printed.get(name) != count
    ]
    right = ", ".join(f"{name} {count}" for name, count in expected.items())
    return Verdict(not wrong, "; ".join(wrong) or right)


def times_verdict(
    headline: str, metrics: Mapping[str, Any], parameters: Mapping[str, Any], *, wall_seconds: float
) -> Verdict:
    """Whether the headline is not longer than its process lived, and not shorter than a tick of its clock."""
    value = metrics.get(headline)
    values = value if isinstance(value, list | tuple) else [0.0 if value is None else value]
    calls = calls_of(parameters)
    claimed = sum(values) * calls
    if value is not None and min(values) * calls < _LEAST_SECONDS:
        shortest = "a time of zero" if min(values) <= 0 else f"a repetition of {min(values) * calls:.3g} s"
        return Verdict(False, f"{headline} holds {shortest}; a clock's tick is no shorter than 1e-09 s")
    return Verdict(
        claimed <= wall_seconds, f"{claimed:.3g} s measured within a launch of {wall_seconds:.3g} s"
    )


def episodes_verdict(episodes: Sequence[Episode], *, environments: int, total: int | None) -> Verdict:
    """Whether every environment's episodes follow one another, in the order in which they ended.

    Args:
        episodes: as a record holds them. Environments that play side by side share the count of steps: their i-th
            step is step ``i * environments`` of the first, one more of the next.
        environments: how many there are.
        total: the steps of all environments together; None where they are not counted.
    """
    steps = list(map(_STEP, episodes))
    if not _follow(steps, list(map(_LENGTH, episodes)), environments):
        return Verdict(False, _first_gap(episodes, environments))
    if total is not None and steps and steps[-1] >= total:
        return Verdict(False, f"they run past {total} environment steps")
    return Verdict(True, f"{len(episodes)} episodes without a gap")


def window_words(*, timed: float, between: float, window: float) -> str:
    """What an implementation claims of a window."""
    return f"{timed:.3g} s timed and {between:.3g} s between, in a window of {window:.3g} s"


def replay_words(*, steps: int, episodes: int, weights: FinalWeights | None) -> str:
    """What was seen when a training's environments were stepped again."""
    words = f"{steps} environment steps made again: {episodes} episodes, all as told"
    if weights is None:
        return words
    return f"{words}; final weights earn {weights.mean:.6g} ± {weights.deviation:.3g}"


def audit_verdict(*, seed: int, timed: float, known: float, telling: bool) -> Verdict:
    """Whether a training took as long with a seed that nobody knew as with the known one."""
    words = f"{timed:.3g} s with seed {seed}, which nobody knew, and {known:.3g} s with the known one"
    return Verdict(not telling or timed <= MOST_TIMES_THE_KNOWN * known, words)


def bound_of(scaled: float | None, tensors: Mapping[str, float], name: str) -> float:
    """The bound of one tensor: its own, else that of the longest matching pattern, else that of the file."""
    matching = [pattern for pattern in tensors if name == pattern or fnmatchcase(name, pattern)]
    if not matching:
        return scaled or 0.0
    # Of two patterns of equal length the stricter counts, so that the order of patterns decides nothing.
    best = min(matching, key=lambda pattern: (pattern != name, -len(pattern), tensors[pattern]))
    return tensors[best]


def _follow(steps: Sequence[int], lengths: Sequence[int], environments: int) -> bool:
    """Whether there is no gap. A record may hold a million episodes, so only built-in functions see each of them."""
    if lengths and min(lengths) < 1:
        return False
    if environments == 1:
        return steps == list(accumulate(lengths, initial=-1))[1:]
    if any(map(ge, steps, steps[1:])):
        return False
    of: dict[int, list[int]] = {}
    for index, step in enumerate(steps):
        of.setdefault(step % environments, []).append(index)
    return all(
        [steps[index] for index in indexes]
        == [
            (played - 1) * environments + environment
            for played in accumulate(lengths[index] for index in indexes)
        ]
        for environment, indexes in of.items()
    )


def _first_gap(episodes: Sequence[Episode], environments: int) -> str:
    played: Counter[int] = Counter()
    previous = -1
    for index, episode in enumerate(episodes):
        environment = episode.step % environments
        played[environment] += episode.length
        expected = (played[environment] - 1) * environments + environment
        if episode.length < 1 or episode.step != expected:
            return f"episode {index} ends at step {episode.step}, its lengths add up to {expected}"
        if episode.step <= previous:
            return f"episode {index} ends at step {episode.step}, before the one that is listed before it"
        previous = episode.step
    return "the episodes do not follow one another"
