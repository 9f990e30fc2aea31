"""The short version of the interruption harness (tests/interruption): every kind of fault once, on real runs."""

import json
import os
import subprocess
import sys

import pytest
from conftest import ROOT

KINDS = ("sigkill", "ctrl-c", "launch-kill", "sigterm", "two-runners", "full-disk", "cut", "ctrl-c-twice")
SEED = 1


@pytest.fixture(scope="session")
def outcomes(images, tmp_path_factory) -> dict[str, dict]:
    """One trial of each kind, by its name; the long version is ``python -m tests.interruption --runs 200``."""
    report = tmp_path_factory.mktemp("interruption") / "outcomes.json"
    result = subprocess.run(
        [
            *(sys.executable, "-m", "tests.interruption", "--runs", str(len(KINDS)), "--seed", str(SEED)),
            *("--jobs", "2", "--json", str(report)),
        ],
        cwd=ROOT, capture_output=True, text=True, timeout=1200, check=False,
    )  # fmt: skip
    assert report.exists(), result.stderr[-4000:]
    return {each["trial"]["kind"]: each for each in json.loads(report.read_text())}


@pytest.mark.parametrize("kind", KINDS)
def test_after_a_fault_nothing_is_lost_or_left_and_the_next_call_goes_on(outcomes, kind):
    if kind == "full-disk" and os.geteuid() != 0:
        pytest.skip("a small file system can only be mounted by root")
    assert outcomes[kind]["struck"]
    assert outcomes[kind]["violations"] == [], (
        f"again: python -m tests.interruption --seed {SEED} --only-run N"
    )
