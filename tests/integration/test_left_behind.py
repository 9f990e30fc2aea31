"""What these tests call left behind: whatever their own runners made, and nothing of another runner's."""

import subprocess
import sys

import conftest
import pytest
from conftest import HOST, docker, forge_bench, left_behind

from runner.daemon.connection import connect
from runner.executors.sweep import DEADLINE_LABEL, OWNER_LABEL, sweep
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


@pytest.mark.alone
def test_the_sweep_takes_what_dead_runners_left_with_its_volumes_and_nothing_else(images):
    gone = subprocess.Popen([sys.executable, "-c", "import sys; sys.stdin.read()"], stdin=subprocess.PIPE)
    dead, here = Owner.of(gone.pid), Owner.current()
    gone.communicate()
    elsewhere = Owner("0" * 12, here.namespace, 1, "1")
    # Whether it is to go, its owner, and its deadline; of the last but one the deadline passed more than an hour ago.
    cases = [
        (True, dead, 600),
        (False, here, 600),
        (False, elsewhere, 600),
        (True, elsewhere, -3700),
        (False, "", 0),
    ]
    made = []
    try:
        for to_go, owner, deadline in cases:
            labels = [f"--label={OWNER_LABEL}={owner}", f"--label={DEADLINE_LABEL}={deadline}"]
            volume = docker("volume", "create", *labels).stdout.strip()
            container = docker(
                "create", *labels, "--volume", "/anonymous", f"forge-bench:core-trixie-{HOST}", "true"
            ).stdout.strip()
            mounts = docker(
                "inspect", "--format", "{{range .Mounts}}{{.Name}} {{end}}", container
            ).stdout.split()
            made.append((to_go, container, [volume, *mounts]))
        sweep(connect(timeout=60)[0])
        for to_go, container, volumes in made:
            assert len(volumes) == 2
            there = docker("ps", "--all", "--quiet", "--no-trunc").stdout.split()
            assert (container not in there) == to_go
            assert all((docker("volume", "inspect", each).returncode != 0) == to_go for each in volumes)
    finally:
        for _, container, volumes in made:
            docker("rm", "--force", "--volumes", container)
            docker("volume", "rm", "--force", *volumes)
