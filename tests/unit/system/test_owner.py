"""Owners: who is called dead, and who never is."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.system.owner import Fate, Owner
from runner.system.scratch import scratch_directory, sweep_scratch

ROOT = Path(__file__).parents[3]
WAIT = [sys.executable, "-c", "import sys; sys.stdin.read()"]


@pytest.fixture
def process():
    child = subprocess.Popen(WAIT, stdin=subprocess.PIPE)
    yield child
    child.kill()
    child.communicate()


def test_a_process_is_alive_until_it_ends_even_while_nobody_has_reaped_it(process):
    owner = Owner.of(process.pid)
    assert owner.fate is Fate.ALIVE
    process.kill()
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    assert owner.fate is Fate.DEAD, "a zombie owns nothing"
    process.wait()
    assert owner.fate is Fate.DEAD


def test_a_number_that_another_process_got_is_not_the_owner():
    here = Owner.current()
    assert here.fate is Fate.ALIVE
    assert Owner(here.boot, here.namespace, here.pid, str(int(here.started) + 1)).fate is Fate.DEAD


def test_whoever_is_of_another_boot_machine_or_process_table_is_never_called_dead():
    here = Owner.current()
    nobody = 2**22 - 1
    assert Owner(here.boot, here.namespace, nobody, "1").fate is Fate.DEAD
    assert Owner("0" * 12, here.namespace, nobody, "1").fate is Fate.UNKNOWN
    assert Owner(here.boot, "1", nobody, "1").fate is Fate.UNKNOWN


@pytest.mark.skipif(os.geteuid() != 0, reason="process tables of one's own need root")
def test_a_runner_in_a_container_and_one_outside_never_judge_each_other():
    program = (
        "import sys; sys.path.insert(0, sys.argv[1])\nfrom runner.system.owner import Owner\n"
        "print(Owner.current()); print(Owner.named_in(sys.argv[2]).fate.name)"
    )
    inside = subprocess.run(
        ["unshare", "--pid", "--fork", "--mount-proc", sys.executable, "-c", program, ROOT, str(Owner.current())],
        capture_output=True, text=True, check=True,
    ).stdout.split()  # fmt: skip
    assert inside[1] == "UNKNOWN"
    owner = Owner.named_in(inside[0])
    assert owner is not None
    assert owner.fate is Fate.UNKNOWN


TOKENS = st.builds(
    Owner,
    st.text("0123456789abcdef", min_size=12, max_size=12),
    st.integers(0, 10**19).map(str),
    st.integers(0, 10**9),
    st.integers(0, 10**19).map(str),
)


@given(
    owner=TOKENS,
    before=st.sampled_from(("", ".part-", "forge-bench-launch-")),
    after=st.sampled_from(("", "-x7_")),
)
def test_a_token_is_read_back_from_whatever_name_it_stands_in(owner, before, after):
    assert Owner.named_in(f"{before}{owner}{after}") == owner
    assert owner.fate in Fate


@given(text=st.text(max_size=80))
def test_no_text_makes_an_owner_dead_that_is_not_named_in_it(text):
    owner = Owner.named_in(text)
    assert owner is None or str(owner) in text


def test_temporary_directories_of_dead_runners_go_and_those_of_living_ones_stay(
    process, tmp_path, monkeypatch
):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with scratch_directory("launch") as mine:
        (mine / "file").write_text("")
        theirs = tmp_path / f"forge-bench-inputs-{Owner.of(process.pid)}-x"
        theirs.mkdir()
        (theirs / "file").write_text("")
        strangers = [tmp_path / "forge-bench-results-x", tmp_path / "other"]
        for each in strangers:
            each.mkdir()
        (tmp_path / f"forge-bench-launch-{Owner('0' * 12, '1', 1, '1')}-x").mkdir()
        assert sweep_scratch() == ()
        process.kill()
        process.wait()
        treasure = tmp_path / "treasure"
        treasure.mkdir()
        (tmp_path / f"{theirs.name}-link").symlink_to(treasure)
        assert sweep_scratch() == (theirs,)
        assert treasure.is_dir()
        assert mine.is_dir()
        assert all(each.is_dir() for each in strangers)
    assert not mine.exists()
