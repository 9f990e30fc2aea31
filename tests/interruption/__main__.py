"""``python -m tests.interruption``: run seeded trials, print what became of them, end with 1 if anything was wrong."""

import argparse
import json
import signal
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import asdict
from pathlib import Path

from tabulate import tabulate

from tests.interruption.faults import FAULTS, can_mount
from tests.interruption.trial import Ground, Outcome, Trial


def main() -> int:
    """Run as the command line says."""
    options = _options()
    kinds = [kind for kind in (options.kind or FAULTS) if kind != "full-disk" or can_mount()]
    if len(kinds) < len(options.kind or FAULTS):
        _say("left out: full-disk: a small file system can only be mounted by root")
    trials = [
        trial
        for trial in _schedule(options.runs, options.seed, kinds)
        if options.only_run in (None, trial.number) and options.executor in (None, trial.executor)
    ]
    # Ignored signals are inherited, and a shell's background job ignores SIGINT: the runners must hear it.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    directory = Path(tempfile.mkdtemp(prefix="interruption-"))
    _say(f"{len(trials)} trials of {', '.join(kinds)} in {directory}")
    ground = Ground(directory, sorted({trial.executor for trial in trials}), alone=options.alone)
    for executor, measure in ground.measures.items():
        _say(f"uninterrupted, {executor}: {len(measure.whole.keys)} cells, {measure.timeline}")
    outcomes = []
    with ThreadPoolExecutor(options.jobs) as pool:
        for done in as_completed([pool.submit(ground.run, trial) for trial in trials]):
            outcomes.append(done.result())
            _say(_lines(outcomes[-1]))
    outcomes.sort(key=lambda each: each.trial.number)
    if options.json is not None:
        told = [asdict(each) | {"missed": each.missed} for each in outcomes]
        options.json.write_text(json.dumps(told, indent=1), encoding="utf-8")
    wrong = [each.trial.number for each in outcomes if each.violations]
    again = [
        f"again alone: python -m tests.interruption --seed {options.seed} --only-run {each}" for each in wrong
    ]
    summary = f"{len(outcomes)} trials, {len(wrong)} with violations"
    sys.stdout.write("\n".join([_table(outcomes), summary, *again, ""]))
    return 1 if wrong else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.interruption", description=__doc__)
    parser.add_argument("--runs", type=int, default=200, help="how many trials (default 200)")
    parser.add_argument("--seed", type=int, default=1, help="of everything that is left to chance")
    parser.add_argument("--only-run", type=int, metavar="N", help="this trial alone")
    parser.add_argument("--kind", action="append", choices=list(FAULTS), help="only this kind of fault")
    parser.add_argument("--executor", choices=("docker", "local"), help="only trials of this executor")
    parser.add_argument("--alone", action="store_true", help="nobody else uses the daemon: any volume counts")
    parser.add_argument(
        "--jobs", type=int, default=1, help="trials at once: runners must not disturb each other"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the outcomes there too")
    return parser.parse_args()


def _schedule(runs: int, seed: int, kinds: Sequence[str]) -> list[Trial]:
    """All kinds in turn, the executors in turn within each: more than half of the trials are on Docker."""
    trials = []
    for number in range(runs):
        kind = kinds[number % len(kinds)]
        executors = FAULTS[kind].executors
        turn = number // len(kinds) + number % len(kinds)
        trials.append(Trial(number=number, seed=seed, kind=kind, executor=executors[turn % len(executors)]))
    return trials


def _lines(outcome: Outcome) -> str:
    trial = outcome.trial
    line = (
        f"{trial.number:4} {trial.kind:12} {trial.executor:6} {outcome.moment:22} {outcome.struck:40} "
        f"code {outcome.code}, {outcome.stored} stored, {outcome.seconds:.1f} s"
    )
    return "\n".join([line, *(f"     VIOLATION {each}" for each in outcome.violations)])


def _table(outcomes: Sequence[Outcome]) -> str:
    rows = []
    for kind in dict.fromkeys(each.trial.kind for each in outcomes):
        for executor in ("docker", "local"):
            group = [each for each in outcomes if (each.trial.kind, each.trial.executor) == (kind, executor)]
            if group:
                codes = Counter(str(each.code) for each in group)
                rows.append(
                    [
                        kind,
                        executor,
                        len(group),
                        sum(not each.missed for each in group),
                        ", ".join(f"{code}: {count}" for code, count in sorted(codes.items())),
                        sum(each.seconds for each in group),
                        sum(bool(each.violations) for each in group),
                    ]
                )
    headers = ["fault", "executor", "trials", "struck in time", "exit code: trials", "seconds", "violations"]
    return tabulate(rows, headers=headers, floatfmt=".0f")


def _say(text: str) -> None:
    sys.stderr.write(text + "\n")


if __name__ == "__main__":
    sys.exit(main())
