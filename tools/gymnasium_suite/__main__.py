"""Gymnasium's own tests on our environments: python -m tools.gymnasium_suite [--suite FOLDER].

Python needs the wheel, `gymnasium[classic-control,box2d]`, pytest, SciPy and dill. The suite is that of the installed
version. The source distribution on PyPI holds two files of it, so its tag is cloned unless FOLDER is a checkout of
it. The tests that count are those in which one of our environments was made. Each of them passes, or its error stands in
`does_not_apply.toml` with a reason.
"""

import argparse
import contextlib
import os
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import gymnasium
import pytest

from tools.gymnasium_suite.ours import OurEnvironments, Result

REPOSITORY = "https://github.com/Farama-Foundation/Gymnasium"
REASONS = Path(__file__).with_name("does_not_apply.toml")
# Spaces have no environment; the others need MuJoCo or JAX and make none of ours.
LEFT_OUT = ("tests/spaces", "tests/functional", "tests/envs/mujoco", "tests/envs/functional")


@dataclass(frozen=True)
class Reason:
    """Why tests do not apply to us."""

    why: str
    errors: tuple[str, ...]
    """Words of the errors with which they fail."""


def main(suite: Path | None) -> int:
    """Run the suite and say what became of the tests that concern us; 1 where one of them fails unexplained."""
    with tempfile.TemporaryDirectory() as temporary:
        results = run(suite or cloned(Path(temporary)))
    reasons = read(REASONS)
    print(f"{sum(not result.ours for result in results)} tests make none of our environments")
    print(f"{sum(result.ours and not result.failed for result in results)} tests pass")
    for why, tests in excused(results, reasons).items():
        print(f"{len(tests)} tests do not apply. {why}")
        for test in tests:
            print(f"    {test}")
    wrong = faults(results, reasons)
    for line in wrong:
        print(line)
    return int(bool(wrong))


def cloned(folder: Path) -> Path:
    """The suite of the installed Gymnasium's version."""
    tag = f"v{gymnasium.__version__}"
    words = ["git", "clone", "--quiet", "--depth", "1", "--branch", tag, REPOSITORY, str(folder)]
    if subprocess.run(words, check=False).returncode != 0:
        raise SystemExit(
            f"gymnasium_suite: the tag {tag} of {REPOSITORY} cannot be cloned; to do: give a checkout of it with "
            "--suite FOLDER"
        )
    return folder


def run(suite: Path) -> list[Result]:
    """How each test ended."""
    ours = OurEnvironments()
    sys.path.insert(0, str(suite.resolve()))
    words = ["-q", "--tb=short", "--continue-on-collection-errors", "-p", "no:cacheprovider", "-W", "ignore"]
    with contextlib.chdir(suite):
        os.environ.setdefault("SDL_VIDEODRIVER", "dummy")
        pytest.main([*words, "tests", *(f"--ignore={each}" for each in LEFT_OUT)], plugins=[ours])
    return ours.results


def read(file: Path) -> list[Reason]:
    """Why tests do not apply to us."""
    listed = tomllib.loads(file.read_text(encoding="utf-8"))["reason"]
    return [Reason(each["why"], tuple(each["errors"])) for each in listed]


def excused(results: Iterable[Result], reasons: Sequence[Reason]) -> dict[str, list[str]]:
    """The tests to which each reason applies."""
    failed = [result for result in results if result.ours and result.failed]
    return {
        reason.why: [
            result.test for result in failed if any(words in result.error for words in reason.errors)
        ]
        for reason in reasons
    }


def faults(results: Iterable[Result], reasons: Sequence[Reason]) -> list[str]:
    """What speaks against us, and words that excuse nothing."""
    ours = [result for result in results if result.ours]
    known = [words for reason in reasons for words in reason.errors]
    failed = [result for result in ours if result.failed]
    found = [
        f"failed: {result.test}; to do: correct it, or say in {REASONS.name} why it cannot pass\n{result.error}"
        for result in failed
        if not any(words in result.error for words in known)
    ]
    found += [
        f"no test fails with {words!r}; to do: take these words out of {REASONS.name}"
        for words in known
        if not any(words in result.error for result in failed)
    ]
    return found if ours else ["no test made one of our environments: the suite did not run"]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--suite", type=Path, metavar="FOLDER", help="a checkout of Gymnasium's repository")
    raise SystemExit(main(parser.parse_args().suite))
