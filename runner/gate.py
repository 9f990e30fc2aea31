"""The gate: what an implementation passes before its timings count.

Nobody's word is taken: the outputs are compared with the reference's, the counts with those that the runner works
out itself, the times with the launch's own duration. Only files of the very launch that was timed are looked at.
"""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from runner.arrays import Array, Unreadable, read_arrays
from runner.failure import Failure, FailureKind
from runner.matrix import Benchmark, OutputCheck
from runner.matrix.expressions import evaluate
from runner.printable import one_line
from runner.reading import read_bounded
from runner.record import SCHEMA
from runner.schema import schema

_LARGEST_EPISODES = 64 * 2**20
_LONGEST_DETAIL = 500


@dataclass(frozen=True, kw_only=True)
class Check:
    """One comparison that was made: what it was, whether it passed, and the figures that decided.

    ``share`` is the largest difference as a share of what is allowed, where the check is one of differences; 1 is
    the bound.
    """

    check: str
    passed: bool
    detail: str
    share: float | None = None


@dataclass(frozen=True, kw_only=True)
class Judgement:
    """All checks of one cell, the episodes that were read on the way, and the failure if there is one."""

    checks: tuple[Check, ...]
    episodes: tuple[dict[str, Any], ...] | None
    failure: Failure | None


class _Refused(Exception):
    """An output that cannot be judged at all."""

    def __init__(self, kind: FailureKind, detail: str) -> None:
        super().__init__(detail)
        # Names of tensors are whatever an implementation wrote.
        self.failure = Failure(kind=kind, detail=one_line(detail, _LONGEST_DETAIL))


def expected_counts(benchmark: Benchmark, parameters: Mapping[str, Any]) -> dict[str, int]:
    """The counts that this work has, from the matrix's arithmetic over the cell's parameters."""
    return {name: evaluate(text, parameters) for name, text in benchmark.counts.items()}


def judge(
    benchmark: Benchmark,
    *,
    parameters: Mapping[str, Any],
    measurement: Mapping[str, Any],
    wall_seconds: float,
    outputs: Path,
    reference: Path | None,
) -> Judgement:
    """Judge one cell.

    Args:
        benchmark: whose gate applies.
        parameters: the cell's parameters.
        measurement: what the implementation printed, already valid by schema.
        wall_seconds: how long the launch took as the runner saw it.
        outputs: the directory with this case's output files.
        reference: the same of the reference implementation; None when this is the reference itself.
    """
    checks = [
        _counts(benchmark, parameters, measurement),
        _times(benchmark, parameters, measurement, wall_seconds),
    ]
    kinds = [FailureKind.WRONG_COUNTS, FailureKind.IMPOSSIBLE_TIME]
    episodes: tuple[dict[str, Any], ...] | None = None
    try:
        _require_headline(benchmark, measurement)
        for output in benchmark.gate.outputs:
            mine = _read(outputs / output.file)
            theirs = mine if reference is None else _read(reference / output.file)
            checks += (compared := _compare(output, mine, theirs))
            kinds += [FailureKind.WRONG_OUTPUT] * len(compared)
        if benchmark.gate.episodes:
            episodes = _read_episodes(outputs / benchmark.gate.episodes)
            checks.append(_episodes_check(episodes, expected_counts(benchmark, parameters)))
            kinds.append(FailureKind.WRONG_OUTPUT)
            if not checks[-1].passed:
                # A record keeps what was played, not what was made up.
                episodes = None
    except _Refused as refused:
        return Judgement(checks=tuple(checks), episodes=episodes, failure=refused.failure)
    failure = next(
        (
            Failure(kind=kind, detail=f"{check.check}: {check.detail}")
            for kind, check in zip(kinds, checks, strict=True)
            if not check.passed
        ),
        None,
    )
    return Judgement(checks=tuple(checks), episodes=episodes, failure=failure)


def _require_headline(benchmark: Benchmark, measurement: Mapping[str, Any]) -> None:
    if benchmark.headline not in measurement["metrics"]:
        raise _Refused(FailureKind.MISSING_METRIC, f'no metric "{benchmark.headline}" in the measurement')


def _counts(benchmark: Benchmark, parameters: Mapping[str, Any], measurement: Mapping[str, Any]) -> Check:
    expected = expected_counts(benchmark, parameters)
    printed = measurement["counts"]
    wrong = [
        f"{name} is {printed.get(name, 'missing')}, must be {count}"
        for name, count in expected.items()
        if printed.get(name) != count
    ]
    right = ", ".join(f"{name} {count}" for name, count in expected.items())
    return Check(check="counts", passed=not wrong, detail="; ".join(wrong) or right)


def _times(
    benchmark: Benchmark, parameters: Mapping[str, Any], measurement: Mapping[str, Any], wall_seconds: float
) -> Check:
    """A headline that adds up to more than the process lived was not measured."""
    value = measurement["metrics"].get(benchmark.headline, 0.0)
    values = value if isinstance(value, list) else [value]
    claimed = sum(values) * int(parameters.get("calls", 1))
    if min(values) <= 0 and benchmark.headline in measurement["metrics"]:
        return Check(check="times", passed=False, detail=f"{benchmark.headline} holds a time of zero")
    return Check(
        check="times",
        passed=claimed <= wall_seconds,
        detail=f"{claimed:.3g} s measured within a launch of {wall_seconds:.3g} s",
    )


def _read(path: Path) -> dict[str, Array]:
    """The arrays of a .npy (under the empty name) or .safetensors file."""
    if path.is_symlink() or not path.is_file():
        raise _Refused(FailureKind.MISSING_OUTPUT, f"{path.name} was not written")
    try:
        arrays = read_arrays(path)
    except Unreadable as error:
        raise _Refused(FailureKind.UNREADABLE_OUTPUT, f"{path.name}: {error}") from error
    for name, array in arrays.items():
        if not np.isfinite(array).all():
            raise _Refused(
                FailureKind.NOT_FINITE, f"{path.name} {name}: NaN or infinity in an output".replace("  ", " ")
            )
    return arrays


def _compare(output: OutputCheck, mine: Mapping[str, Array], theirs: Mapping[str, Array]) -> list[Check]:
    missing = sorted(theirs.keys() - mine.keys())
    if missing:
        raise _Refused(FailureKind.MISSING_OUTPUT, f"{output.file} lacks {', '.join(missing)}")
    checks = []
    for name, reference in sorted(theirs.items()):
        label = f"{output.file} {name}".strip()
        array = mine[name]
        # A scalar may be stored with the shape () or (1,): the same number.
        if array.shape != reference.shape and (array.size, reference.size) != (1, 1):
            raise _Refused(
                FailureKind.WRONG_OUTPUT,
                f"{label} has the shape {array.shape}, the reference {reference.shape}",
            )
        checks.append(_compare_array(label, name, output, array, reference))
    return checks


def _compare_array(label: str, name: str, output: OutputCheck, array: Array, reference: Array) -> Check:
    # Two finite numbers may lie further apart than any number: infinity is a difference too, and no warning.
    with np.errstate(over="ignore", divide="ignore"):
        return _difference(label, name, output, array.astype(np.float64), reference.astype(np.float64))


def _difference(label: str, name: str, output: OutputCheck, array: Array, reference: Array) -> Check:
    x, r = array.ravel(), reference.ravel()
    difference = np.abs(x - r)
    worst = float(difference.max(initial=0.0))
    if output.scaled is None:
        bounds = output.atol + output.rtol * np.abs(r)
        detail = f"largest difference {worst:.3g} (rtol {output.rtol:g}, atol {output.atol:g})"
    else:
        bound = output.tensors.get(name, output.scaled)
        magnitude = float(np.abs(r).max(initial=0.0))
        bounds = np.full_like(r, bound * magnitude)
        relative = worst / magnitude if magnitude > 0 else worst
        detail = f"largest difference over largest magnitude {relative:.3g} (bound {bound:g})"
    # 0 / 0: equal where nothing may differ.
    shares = np.divide(difference, bounds, out=np.zeros_like(difference), where=difference > 0)
    share = float(shares.max(initial=0.0))
    return Check(check=label, passed=share <= 1, detail=detail, share=share if np.isfinite(share) else None)


def _read_episodes(path: Path) -> tuple[dict[str, Any], ...]:
    if path.is_symlink() or not path.is_file():
        raise _Refused(FailureKind.MISSING_OUTPUT, f"{path.name} was not written")
    try:
        found = json.loads(read_bounded(path, _LARGEST_EPISODES))
        finite = all(not isinstance(each["return"], float) or math.isfinite(each["return"]) for each in found)
    except (OSError, ValueError, TypeError, KeyError, RecursionError) as error:
        raise _Refused(
            FailureKind.UNREADABLE_OUTPUT, f'{path.name} is not a list of {{"step", "length", "return"}}'
        ) from error
    if not finite:
        raise _Refused(FailureKind.NOT_FINITE, f"{path.name}: NaN or infinity in a return")
    # What does not fit into a record must not get as far as one.
    allowed = schema(SCHEMA, "episodes")
    if not allowed.allows(found):
        raise _Refused(FailureKind.UNREADABLE_OUTPUT, f"{path.name}: {allowed.why_not(found)}")
    return tuple(
        {"step": int(each["step"]), "length": int(each["length"]), "return": float(each["return"])}
        for each in found
    )


def _episodes_check(episodes: tuple[dict[str, Any], ...], counts: Mapping[str, int]) -> Check:
    """Episodes follow one another without a gap and fit into the environment steps that were taken."""
    expected_step = -1
    for index, episode in enumerate(episodes):
        expected_step += episode["length"]
        if episode["length"] < 1 or episode["step"] != expected_step:
            return Check(
                check="episodes",
                passed=False,
                detail=f"episode {index} ends at step {episode['step']}, its lengths add up to {expected_step}",
            )
    total = counts.get("environment_steps")
    if total is not None and expected_step >= total:
        return Check(check="episodes", passed=False, detail=f"they run past {total} environment steps")
    return Check(check="episodes", passed=True, detail=f"{len(episodes)} episodes without a gap")
