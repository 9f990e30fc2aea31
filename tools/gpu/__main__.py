"""Measure trainings on a machine with a GPU, or write the page of the newest record.

python3 -m tools.gpu --ours PATH_TO_TORCHFORGE --record FILE.json [--budget SECONDS] [--only NAME] [--trial]
python3 -m tools.gpu --write        # docs/gpu.md from the newest record in results/gpu
"""

import argparse
import dataclasses
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from math import inf
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Lock

from tools.gpu import page
from tools.gpu.measure import NO_TIME, Place, entry, measured
from tools.gpu.record import Keeper, head
from tools.gpu.rows import TRAININGS, TRIAL, Lengths, Row, case_words, rows

ROOT = Path(__file__).parents[2]
ROUNDS = 3
# No launch takes longer, whatever its length.
LONGEST_SECONDS = 150.0
# In a trial nothing is compared, so launches share the machine.
TRIAL_LAUNCHES = 8


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure or write; returns the exit code."""
    options = _parser().parse_args(arguments)
    if options.write:
        page.write(ROOT)
        return 0
    if options.ours is None or options.record is None:
        print("tools.gpu: give --ours and --record to measure, or --write", file=sys.stderr)
        return 2
    with TemporaryDirectory() as inputs:
        _measure(options, Path(inputs))
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python3 -m tools.gpu", description=__doc__)
    parser.add_argument("--write", action="store_true", help="write docs/gpu.md from the newest record")
    parser.add_argument("--ours", type=Path, metavar="PATH", help="the program torchforge")
    parser.add_argument("--record", type=Path, metavar="FILE", help="where the record is written")
    parser.add_argument("--budget", type=float, default=900.0, help="seconds for everything (default 900)")
    parser.add_argument(
        "--only", action="append", default=[], metavar="NAME", help="rows with this in their name"
    )
    parser.add_argument("--trial", action="store_true", help="every row once, tiny and side by side")
    parser.add_argument(
        "--device", choices=("cuda", "cpu"), default="cuda", help="where rows of the GPU compute"
    )
    parser.add_argument("--commit", help="the repository's, where git cannot say it")
    return parser


def _measure(options: argparse.Namespace, inputs: Path) -> None:
    deadline = time.monotonic() + options.budget
    lengths, rounds, workers = (TRIAL, 1, TRIAL_LAUNCHES) if options.trial else (Lengths(), ROUNDS, 1)
    cores = sorted(os.sched_getaffinity(0), reverse=True)
    # By itself JAX takes most of the GPU's memory, which launches side by side have to share.
    variables = {"XLA_PYTHON_CLIENT_PREALLOCATE": "false"} if options.trial else {}
    place = Place(root=ROOT, inputs=inputs, lengths=lengths, cores=cores, variables=variables)
    for training in TRAININGS:
        words = (sys.executable, "-m", "baselines.inputs", training, *case_words(lengths, training))
        subprocess.run([*words, "--seed", "1", "--output", str(inputs)], cwd=ROOT, check=True)
    asked = {"budget": options.budget, "only": options.only, "trial": options.trial, "device": options.device}
    keeper = Keeper(path=options.record, head=head(ROOT, options.commit, dataclasses.asdict(lengths), asked))
    chosen = rows(options.ours.resolve(), sys.executable, options.device, len(cores), trial=options.trial)
    if options.only:
        chosen = [row for row in chosen if any(name in f"{row.label} {row.device}" for name in options.only)]
    plan = [(number, row) for number in range(1, rounds + 1) for row in chosen if number <= row.rounds]
    course = _Course(keeper, place, deadline)
    # One worker keeps the order, and has the machine for itself.
    with ThreadPoolExecutor(workers) as pool:
        for each in [pool.submit(course.launch, *turn) for turn in plan]:
            each.result()


class _Course:
    """The launches of a record, until its budget is spent."""

    def __init__(self, keeper: Keeper, place: Place, deadline: float) -> None:
        self._keeper, self._place, self._deadline = keeper, place, deadline
        self._lock = Lock()
        self._took: dict[tuple[str, str], float] = {}

    def launch(self, number: int, row: Row) -> None:
        """Measure a row, or say that no time is left for it. One that failed before is left out."""
        began, key = time.monotonic(), (row.label, row.device)
        left, needed = self._deadline - began, self._took.get(key, 1.0)
        if needed == inf:
            return
        if left < needed:
            found = entry(row, number, NO_TIME)
        else:
            found = measured(row, number, self._place, min(LONGEST_SECONDS, left))
        seconds = time.monotonic() - began
        with self._lock:
            self._took[key] = seconds if found["failure"] is None else inf
            self._keeper.add(found)
            told = found["failure"] or f"{found['loop_seconds']:.3f} s, return {found['mean_return']}"
            print(f"{seconds:6.1f} s  {row.label} on the {row.device}: {told}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
