"""``python -m tests.mutants``: print what became of each mutant, end with 1 if one survived."""

import argparse
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from enum import Enum
from pathlib import Path

from tests.mutants.mutant import Mutant, read_mutants

ROOT = Path(__file__).parents[2]
# A mutation may make a loop without an end: that is noticed too.
MOST_SECONDS = 600


class Fate(Enum):
    """What the named tests made of a mutant; only failed tests kill, not an error of collection."""

    KILLED = "killed"
    SURVIVED = "SURVIVED"
    BROKEN = "BROKEN"


def main() -> int:
    """Run as the command line says."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    parser.add_argument("--only", action="append", help="part of a mutant's name; may be given several times")
    only = parser.parse_args().only or [""]
    mutants = [each for each in read_mutants() if any(part in each.name for part in only)]
    with tempfile.TemporaryDirectory(prefix="mutants-") as temporary:
        copy = Path(temporary)
        copy_checkout(copy)
        for tests in sorted({each.killed_by for each in mutants}):
            if run_tests(copy, tests) != 0:
                sys.stdout.write(f"{tests} fails without any mutation\n")
                return 1
        wrong = [each.name for each in mutants if _reported(each, copy) is not Fate.KILLED]
    sys.stdout.write(
        f"{len(mutants)} mutants, {len(wrong)} not killed{': ' if wrong else ''}{', '.join(wrong)}\n"
    )
    return 1 if wrong or not mutants else 0


def copy_checkout(target: Path) -> None:
    """Copy every file that git knows or would add."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    for name in filter(None, listed.stdout.split("\0")):
        if (ROOT / name).is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, target / name)


def run_tests(root: Path, tests: str) -> int:
    """pytest's exit code for a test file of the checkout at ``root``; 1 says that tests failed, or never ended."""
    command: Sequence[str] = (
        sys.executable,
        "-B",
        "-m",
        "pytest",
        "-x",
        "-q",
        "-p",
        "no:cacheprovider",
        tests,
    )
    try:
        return subprocess.run(
            command, cwd=root, capture_output=True, timeout=MOST_SECONDS, check=False
        ).returncode
    except subprocess.TimeoutExpired:
        return 1


def fate_of(mutant: Mutant, root: Path) -> Fate:
    """What the named tests make of it, in the checkout at ``root``."""
    with mutant.made_in(root):
        return {0: Fate.SURVIVED, 1: Fate.KILLED}.get(run_tests(root, mutant.killed_by), Fate.BROKEN)


def _reported(mutant: Mutant, root: Path) -> Fate:
    started = time.monotonic()
    fate = fate_of(mutant, root)
    sys.stdout.write(
        f"{fate.value:<8}  {time.monotonic() - started:4.0f} s  {mutant.name} ({mutant.killed_by})\n"
    )
    sys.stdout.flush()
    return fate


if __name__ == "__main__":
    raise SystemExit(main())
