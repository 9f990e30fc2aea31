"""All that the gate concludes from a training's logs: of the ranked training, and of the one with an unknown seed."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from runner.gate.check import Check
from runner.gate.digests import check_digest, digested
from runner.gate.episodes import check_episodes, read_episodes
from runner.gate.hearing import Examined, Hearing
from runner.gate.replay import Expected, check_drawn, check_replay
from runner.matrix import Benchmark
from runner.matrix.expressions import evaluate
from runner.records.measured import Episode
from runner.records.refereed import FinalWeights
from runner.referee.dialogue import Audit


@dataclass(frozen=True, kw_only=True)
class Replays:
    """The checks in their order, and what the final weights earned."""

    checks: tuple[Check, ...] = ()
    final_weights: FinalWeights | None = None


def judge_replays(
    benchmark: Benchmark,
    *,
    parameters: Mapping[str, Any],
    outputs: Path,
    episodes: tuple[Episode, ...],
    same_work: bool,
    hearing: Hearing,
) -> Replays:
    """Judge the logs of one cell.

    Args:
        benchmark: whose gate applies.
        parameters: the cell's parameters.
        outputs: the directory with this case's output files.
        episodes: those that the ranked training tells of.
        same_work: False for an implementation whose work differs. It may have environments of its own, whose episodes
            are then claimed and not checked.
        hearing: what the referee saw.

    Raises:
        Refused: an output of the training with the unknown seed is missing or cannot be read.
    """
    replay, examined = benchmark.gate.replay, hearing.examined
    if replay is None or examined is None:
        return Replays()
    ranked = outputs / str(hearing.refereed.asked[-1])
    if not same_work and not (ranked / replay.actions).exists():
        return Replays()

    def expected(seed: int) -> Expected:
        return Expected(
            steps=evaluate(benchmark.counts["environment_steps"], parameters),
            environments=parameters.get("environments", 1),
            seed=seed if same_work else None,
        )

    check, weights = check_replay(
        "replay", examined.replay, episodes, expected(hearing.seed), weights_seed=examined.weights_seed
    )
    checks = [check]
    audit = hearing.refereed.audit
    if audit is not None:
        folder = outputs / str(audit.window.repetitions.start)
        checks += _of_audit(
            benchmark, folder, audit, examined, expected(audit.seed), known=ranked, same_work=same_work
        )
    return Replays(checks=tuple(checks), final_weights=weights)


def _of_audit(
    benchmark: Benchmark,
    folder: Path,
    audit: Audit,
    examined: Examined,
    expected: Expected,
    *,
    known: Path,
    same_work: bool,
) -> Iterator[Check]:
    """The training with an unknown seed: its digest, its episodes and its log, in one check; and Gymnasium's word."""
    name, number = "audit replay", audit.window.repetitions.start
    episodes = read_episodes(folder / (benchmark.gate.episodes or ""))
    arrays = digested(benchmark.gate, folder, {}, known=known, same_work=same_work)
    digest = check_digest(audit.window.digest_of(number), arrays, repetition=number)
    follow = check_episodes(episodes, environments=expected.environments, total=expected.steps)
    failed = next((each for each in (digest, follow) if not each.passed), None)
    if failed is not None:
        yield Check(check=name, passed=False, detail=f"{failed.check}: {failed.detail}")
        return
    if examined.audit is not None:
        yield check_replay(name, examined.audit, episodes, expected)[0]
    if examined.gymnasium is not None:
        yield check_drawn(examined.gymnasium, episodes)
