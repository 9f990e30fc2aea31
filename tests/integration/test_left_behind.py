"""What these tests call left behind: whatever their own runners made, and nothing of another runner's."""

import subprocess
import sys

import conftest
import pytest
from conftest import docker, forge_bench, left_behind

from runner.executors.sweep import OWNER_LABEL
from runner.system.owner import Owner

NAMES = ("forge-bench-test-left-behind-own", "forge-bench-test-left-behind-others")


# The runner is gone: any other that starts would sweep what bears its token.
@pytest.mark.alone
def test_what_an_own_runner_made_is_seen_and_what_another_made_is_not():
    before = set(conftest.STARTED)
    assert forge_bench("list").returncode == 0
    (own,) = conftest.STARTED - before
    try:
        for name, token in zip(NAMES, (own, str(Owner.current())), strict=True):
            made = docker("volume", "create", "--label", f"{OWNER_LABEL}={token}", name)
            assert made.returncode == 0, made.stderr
        assert left_behind() == [f"{own} {NAMES[0]}"]
    finally:
        docker("volume", "rm", *NAMES)
    assert left_behind() == []


def test_a_runner_is_known_from_outside_by_the_token_that_it_gives_itself():
    words = "from runner.system.owner import Owner; print(Owner.current(), flush=True); input()"
    with subprocess.Popen(
        [sys.executable, "-c", words],
        cwd=conftest.ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline().strip() == str(Owner.of(process.pid))
        process.communicate("\n")
