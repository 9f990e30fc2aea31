"""The whole of the gate for one cell: outputs, counts, times, episodes."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from runner.gate.arrays import Array
from runner.gate.check import Check, Refused
from runner.gate.digests import check_digest, digested
from runner.gate.episodes import check_episodes, read_episodes
from runner.gate.hearing import Hearing
from runner.gate.outputs import compare, read_output
from runner.gate.replays import judge_replays
from runner.gate.windows import check_window
from runner.matrix import Benchmark, Kind
from runner.matrix.expressions import evaluate
from runner.records.failure import Failure, FailureKind
from runner.records.measured import Episode
from runner.records.refereed import FinalWeights
from runner.records.verdicts import audit_verdict, counts_verdict, times_verdict
from runner.referee.claims import Claims
from runner.referee.dialogue import Audit
from runner.referee.sizes import Plan


@dataclass(frozen=True, kw_only=True)
class Judgement:
    """All checks of one cell, and the failure if there is one.

    ``episodes`` were read on the way, and ``final_weights`` is what they earned when they were played.
    """

    checks: tuple[Check, ...]
    episodes: tuple[Episode, ...] | None
    failure: Failure | None
    final_weights: FinalWeights | None = None


def expected_counts(benchmark: Benchmark, parameters: Mapping[str, Any]) -> dict[str, int]:
    """The expected counts, from the matrix's arithmetic over the cell's parameters."""
    return {name: evaluate(text, parameters) for name, text in benchmark.counts.items()}


def judge(
    benchmark: Benchmark,
    *,
    parameters: Mapping[str, Any],
    measurement: Mapping[str, Any],
    wall_seconds: float,
    outputs: Path,
    reference: Path | None,
    same_work: bool = True,
    hearing: Hearing | None = None,
) -> Judgement:
    """Judge one cell.

    Args:
        benchmark: whose gate applies.
        parameters: the cell's parameters.
        measurement: what the implementation printed, already valid by schema.
        wall_seconds: the duration of the launch, measured by the runner.
        outputs: the directory with this case's output files.
        reference: the same of the reference implementation; None when this is the reference itself.
        same_work: False for an implementation whose work differs, as the matrix says. The gate then compares no
            outputs, and still judges counts, times and episodes.
        hearing: what the referee saw; None where there was none. The outputs are then those of the repetitions that
            the referee asked for, a folder each.
    """
    checks = [
        _counts(benchmark, parameters, measurement),
        _times(benchmark, parameters, measurement, wall_seconds),
    ]
    kinds = [FailureKind.WRONG_COUNTS, FailureKind.IMPOSSIBLE_TIME]
    episodes: tuple[Episode, ...] | None = None
    weights: FinalWeights | None = None
    try:
        _require_headline(benchmark, measurement)
        compared: dict[str, Check] = {}
        try:
            for folder in _folders(hearing):
                theirs = None if reference is None else reference / folder
                for check in _outputs(benchmark, outputs / folder, theirs, same_work, hearing):
                    compared[check.check] = check.or_worse(compared.get(check.check))
        finally:
            checks += compared.values()
            kinds += [FailureKind.WRONG_OUTPUT] * len(compared)
        if hearing is not None:
            # After the outputs: wrong work says more than the time that it took.
            checks.append(_window(benchmark, parameters, hearing))
            kinds.append(FailureKind.UNACCOUNTED_TIME)
        if benchmark.gate.episodes:
            # A training has one repetition.
            episodes = read_episodes(outputs / _folders(hearing)[-1] / benchmark.gate.episodes)
            checks.append(
                check_episodes(
                    episodes,
                    environments=parameters.get("environments", 1),
                    total=expected_counts(benchmark, parameters).get("environment_steps"),
                )
            )
            kinds.append(FailureKind.WRONG_OUTPUT)
            if checks[-1].passed and hearing is not None:
                replayed = judge_replays(
                    benchmark,
                    parameters=parameters,
                    outputs=outputs,
                    episodes=episodes,
                    same_work=same_work,
                    hearing=hearing,
                )
                weights = replayed.final_weights
                checks += replayed.checks
                kinds += [FailureKind.WRONG_OUTPUT] * len(replayed.checks)
            elif not checks[-1].passed:
                # A record keeps only episodes that passed the checks.
                episodes = None
        if hearing is not None and hearing.refereed.audit is not None:
            checks.append(_audit(benchmark, parameters, hearing, hearing.refereed.audit))
            kinds.append(FailureKind.PREPARED_WORK)
    except Refused as refused:
        # Wrong counts explain more than the wrong files that they cause.
        failure = _first_failure(kinds, checks) or refused.failure
        return Judgement(checks=tuple(checks), episodes=episodes, failure=failure)
    return Judgement(
        checks=tuple(checks),
        episodes=episodes,
        failure=_first_failure(kinds, checks),
        final_weights=weights,
    )


def _outputs(
    benchmark: Benchmark,
    folder: Path,
    reference: Path | None,
    same_work: bool,
    hearing: Hearing | None,
) -> Iterator[Check]:
    """The checks of one folder of outputs."""
    files: dict[str, Mapping[str, Array]] = {}
    for output in benchmark.gate.outputs if same_work else ():
        mine = files[output.file] = read_output(folder / output.file)
        theirs = mine if reference is None else read_output(reference / output.file)
        yield from compare(output, mine, theirs)
    if hearing is not None and int(folder.name) in hearing.refereed.ranked.repetitions:
        known = reference if same_work else None
        yield _digest(benchmark, hearing, folder, files, known=known, same_work=same_work)


def _folders(hearing: Hearing | None) -> Sequence[str]:
    """Where the outputs lie below the case's folder."""
    return ("",) if hearing is None else tuple(str(each) for each in hearing.refereed.asked)


def _window(benchmark: Benchmark, parameters: Mapping[str, Any], hearing: Hearing) -> Check:
    ranked = hearing.refereed.ranked
    claims = Claims.of(benchmark.headline, parameters)
    account = ranked.account(
        claims, channel_seconds=hearing.channel_seconds, between_seconds=hearing.between_seconds
    )
    return check_window(account, Plan.of(parameters, training=benchmark.kind is Kind.TRAINING))


def _audit(benchmark: Benchmark, parameters: Mapping[str, Any], hearing: Hearing, audit: Audit) -> Check:
    """Whether the training with an unknown seed took no longer, and its claims fit its window."""
    claims = Claims.of(benchmark.headline, parameters)
    account = audit.window.account(
        claims, channel_seconds=hearing.channel_seconds, between_seconds=hearing.between_seconds
    )
    verdict = audit_verdict(
        seed=audit.seed,
        timed=account.timed,
        known=claims.seconds(hearing.refereed.ranked.done),
        telling=account.telling,
    )
    # What lies between the timed parts may leave a window unranked. Of an audit it would hide the work that was due.
    hidden = () if account.mostly_timed else ("less than half of its window was timed",)
    faults = (*account.faults, *hidden) if account.telling else ()
    return Check(
        check="audit", passed=verdict.passed and not faults, detail="; ".join((verdict.detail, *faults))
    )


def _digest(
    benchmark: Benchmark,
    hearing: Hearing,
    folder: Path,
    files: Mapping[str, Mapping[str, Array]],
    *,
    known: Path | None,
    same_work: bool,
) -> Check:
    return check_digest(
        hearing.refereed.ranked.digest_of(int(folder.name)),
        digested(benchmark.gate, folder, files, known=known, same_work=same_work),
        repetition=int(folder.name),
    )


def _first_failure(kinds: Sequence[FailureKind], checks: Sequence[Check]) -> Failure | None:
    """The first check that failed, and the number of other failed checks."""
    failed = [(kind, check) for kind, check in zip(kinds, checks, strict=True) if not check.passed]
    if not failed:
        return None
    kind, check = failed[0]
    others = f"; {len(failed) - 1} more checks failed" if len(failed) > 1 else ""
    return Failure(kind=kind, detail=f"{check.check}: {check.detail}{others}")


def _require_headline(benchmark: Benchmark, measurement: Mapping[str, Any]) -> None:
    if benchmark.headline not in measurement["metrics"]:
        raise Refused(FailureKind.MISSING_METRIC, f'no metric "{benchmark.headline}" in the measurement')


def _counts(benchmark: Benchmark, parameters: Mapping[str, Any], measurement: Mapping[str, Any]) -> Check:
    return Check.of("counts", counts_verdict(expected_counts(benchmark, parameters), measurement["counts"]))


def _times(
    benchmark: Benchmark, parameters: Mapping[str, Any], measurement: Mapping[str, Any], wall_seconds: float
) -> Check:
    found = times_verdict(benchmark.headline, measurement["metrics"], parameters, wall_seconds=wall_seconds)
    return Check.of("times", found)
