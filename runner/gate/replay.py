"""A training's environments, stepped again by the referee, against what the training tells of them."""

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from msgspec import DecodeError
from msgspec.json import decode

from runner.executors.base import Examination
from runner.gate.check import Check
from runner.records.measured import Episode
from runner.records.part import Part
from runner.records.refereed import FinalWeights
from runner.records.verdicts import replay_words
from runner.system.printable import last_line, one_line

# Some libraries add rewards in single precision.
_RETURN_SHARE = 1e-5
_LONGEST = 200


class Replayed(Part, frozen=True, kw_only=True):
    """The answer of ``torchforge replay``: see its help."""

    steps: int
    seeds: tuple[tuple[tuple[int, int], ...], ...]
    episodes: tuple[tuple[int, int, float], ...]
    greedy: tuple[float, ...] | None = None


class Drawn(Part, frozen=True, kw_only=True):
    """The answer of ``baselines.benchmarks.replay``: some of the episodes, played in Gymnasium."""

    episodes: tuple[tuple[int, int, float], ...]


@dataclass(frozen=True, kw_only=True)
class Expected:
    """What a log must hold.

    Attributes:
        steps: of all environments together.
        environments: how many there are.
        seed: of the first one's first reset, the next ones counting on; None where another library draws its own.
    """

    steps: int
    environments: int
    seed: int | None


def check_replay(
    name: str,
    examination: Examination,
    episodes: Sequence[Episode],
    expected: Expected,
    *,
    weights_seed: int | None = None,
) -> tuple[Check, FinalWeights | None]:
    """Judge what came of a training's log.

    Args:
        name: of the check.
        examination: of the log by ``torchforge replay``.
        episodes: those that the training tells of.
        expected: what the log must hold.
        weights_seed: of the episodes with the final weights; None where none were played.
    """
    if examination.exit_code != 0:
        return _failed(name, _last_word(examination)), None
    try:
        found = decode(examination.stdout, type=Replayed)
    except DecodeError as error:
        return _failed(name, f"the replay's answer is not understood: {error}"), None
    fault = _fault(found, episodes, expected)
    if fault is not None:
        return _failed(name, fault), None
    weights = _weights(found.greedy, weights_seed)
    words = replay_words(steps=found.steps, episodes=len(episodes), weights=weights)
    return Check(check=name, passed=True, detail=words), weights


def check_drawn(examination: Examination, episodes: Sequence[Episode]) -> Check:
    """Judge the episodes that were drawn and played in Gymnasium's own environment."""
    if examination.exit_code != 0:
        return _failed("gymnasium", _last_word(examination))
    try:
        found = decode(examination.stdout, type=Drawn).episodes
    except DecodeError as error:
        return _failed("gymnasium", f"the answer is not understood: {error}")
    told = {each.step: each for each in episodes}
    for step, length, value in found:
        if step not in told or not _is_told((step, length, value), told[step]):
            return _failed("gymnasium", f"the episode that ends at step {step} is another in Gymnasium")
    detail = f"{len(found)} drawn episodes played in Gymnasium, all as told"
    return Check(check="gymnasium", passed=True, detail=detail)


def _fault(found: Replayed, episodes: Sequence[Episode], expected: Expected) -> str | None:
    if found.steps != expected.steps:
        return f"the log has {found.steps} environment steps, and there are {expected.steps}"
    if len(found.seeds) != expected.environments:
        return f"the log is of {len(found.seeds)} environments, and there are {expected.environments}"
    if expected.seed is not None:
        for index, seeds in enumerate(found.seeds):
            if seeds != ((0, expected.seed + index),):
                said = ", ".join(f"{seed} before step {step}" for step, seed in seeds[:3]) or "none"
                return (
                    f"environment {index} has the seeds {said}, and it gets {expected.seed + index} at first"
                )
    if len(found.episodes) != len(episodes):
        return f"the log gives {len(found.episodes)} episodes, and {len(episodes)} are told"
    for index, (seen, told) in enumerate(zip(found.episodes, episodes, strict=True)):
        if not _is_told(seen, told):
            step, length, value = seen
            return (
                f"episode {index} ends at step {step} after {length} steps with {value:.9g}, and the training tells "
                f"of step {told.step}, {told.length} steps and {told.total:.9g}"
            )
    return None


def _is_told(seen: tuple[int, int, float], told: Episode) -> bool:
    step, length, value = seen
    allowed = _RETURN_SHARE * max(1.0, abs(value))
    return (step, length) == (told.step, told.length) and abs(value - told.total) <= allowed


def _weights(returns: Sequence[float] | None, seed: int | None) -> FinalWeights | None:
    if not returns or seed is None or not all(map(math.isfinite, returns)):
        return None
    deviation = statistics.stdev(returns) if len(returns) > 1 else 0.0
    return FinalWeights(episodes=len(returns), seed=seed, mean=statistics.fmean(returns), deviation=deviation)


def _failed(name: str, detail: str) -> Check:
    return Check(check=name, passed=False, detail=one_line(detail, _LONGEST))


def _last_word(examination: Examination) -> str:
    return last_line(examination.stderr) or "the replay ended without a word"
