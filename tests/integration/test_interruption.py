"""The short version of the interruption harness (tests/interruption): every kind of fault once, on real runs."""

import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest
from conftest import HOST, ROOT

from runner.system.orphans import OWNER_VARIABLE
from runner.system.owner import Owner

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
    assert not outcomes[kind]["missed"], f"the fault did not strike: {outcomes[kind]}"
    assert outcomes[kind]["violations"] == [], (
        f"again: python -m tests.interruption --seed {SEED} --only-run N"
    )


BUILDER = """
import sys
from pathlib import Path
from runner.daemon.docker_command import builder, docker
words = ("buildx", "build", "--builder", builder(), "--progress", "plain", "--network", "none", sys.argv[1])
docker(*words, log=Path(sys.argv[2]))
"""


def children_of(owner: Owner) -> list[psutil.Process]:
    """What a runner has started, wherever it went."""
    found = []
    for process in psutil.process_iter():
        try:
            if process.environ().get(OWNER_VARIABLE) == str(owner):
                found.append(process)
        except psutil.Error:
            continue
    return found


def test_an_image_build_does_not_outlive_a_runner_that_is_killed(images, tmp_path):
    context, log = tmp_path / "context", tmp_path / "build.log"
    context.mkdir()
    # The path makes the step a new one: nothing of it is in the cache.
    (context / "Dockerfile").write_text(
        f"FROM forge-bench:core-trixie-{HOST}\nRUN echo begun {tmp_path} && python3 -c 'import time; time.sleep(600)'\n"
    )
    runner = subprocess.Popen([sys.executable, "-c", BUILDER, str(context), str(log)], cwd=ROOT)
    owner = Owner.of(runner.pid)
    end = time.monotonic() + 300
    while not has_begun(log):
        assert runner.poll() is None, log.read_text()
        assert time.monotonic() < end, f"the step has not begun: {log.read_text()}"
    children = children_of(owner)
    assert any("buildx" in " ".join(child.cmdline()) for child in children)
    runner.kill()
    runner.wait()
    assert psutil.wait_procs(children, timeout=60)[1] == []


def has_begun(log: Path) -> bool:
    """Whether the build has come to its last step, and that to its program."""
    return log.exists() and re.search(r"^#\d+ [\d.]+ begun /", log.read_text(), re.MULTILINE) is not None
