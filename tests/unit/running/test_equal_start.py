"""Launches of one machine start alike: their CPUs are theirs alone, and their record says what disturbed them."""

import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from example_records import make_record, referee_facts
from msgspec.structs import replace
from verify.made import DOUBLER, Forge

from runner.cli.main import main
from runner.executors.outside import seen_of_session
from runner.records.place import MachineState
from runner.records.refereed import RefereeFacts
from runner.report.tables.warnings import flags_of_load, is_loaded
from runner.system.cpus import choose_cpus, usable_cpus
from runner.system.topology import topology_here

HOLDER = """
import sys
from runner.system.cpu_locks import Use, hold
with hold([int(sys.argv[1])], Use(what="dqn-other", machine="here", seconds=60), print):
    print("held", flush=True)
    sys.stdin.read()
"""
LINUX = pytest.mark.skipif(sys.platform != "linux", reason="only Linux shows these counts")


def cpu_of_launches() -> int:
    return choose_cpus(1, usable_cpus(os.cpu_count() or 1), topology_here()).cpus[0]


def test_a_run_waits_for_another_runner_that_uses_its_cpu(tmp_path, capsys):
    forge = Forge.of(tmp_path, capsys)
    command = [sys.executable, "-c", HOLDER, str(cpu_of_launches())]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdin is not None
        assert other.stdout is not None
        assert other.stdout.readline() == "held\n"
        ending = threading.Timer(1.0, other.stdin.close)
        ending.start()
        began = time.monotonic()
        forge.run("--profile", "smoke", other=DOUBLER)
        assert time.monotonic() - began >= 1
        ending.join()
    assert [record.failed for record in forge.store.records()] == [False] * 4
    main(
        [
            "--matrix",
            str(tmp_path / "matrix.yaml"),
            "--results",
            str(tmp_path / "more"),
            "--executor",
            "local",
        ]
    )
    assert "waiting for CPU" not in capsys.readouterr().err, "nobody uses it any more"


def test_a_record_has_the_state_of_the_machine_before_and_after_its_launch(tmp_path, capsys):
    forge = Forge.of(tmp_path, capsys)
    forge.run("--profile", "smoke")
    for record in forge.store.records():
        assert isinstance(record.launch.state_after, MachineState)
        assert record.launch.state_after.plain().keys() == record.launch.state.plain().keys()


@LINUX
def test_preemptions_and_stolen_time_are_read_from_outside():
    cpu = cpu_of_launches()
    spin = f"import os; os.sched_setaffinity(0, [{cpu}]); print(flush=True)\nwhile True: pass"
    spinning = [
        subprocess.Popen([sys.executable, "-c", spin], stdout=subprocess.PIPE, start_new_session=True)
        for _ in range(2)
    ]
    try:
        for each in spinning:
            assert each.stdout is not None
            each.stdout.readline()
        before = seen_of_session(spinning[0].pid, [cpu])
        time.sleep(1)
        used = seen_of_session(spinning[0].pid, [cpu]).since(before)
    finally:
        for each in spinning:
            each.kill()
            each.communicate()
    assert used.preemptions is not None
    assert used.preemptions > 5, "two processes that never wait share one CPU"
    assert used.cpu_seconds is not None
    assert used.cpu_seconds < 0.9
    stat = Path("/proc/stat").read_text(encoding="ascii").splitlines()[0].split()
    assert (used.stolen_seconds is not None) == (len(stat) > 8)


def refereed(*, preemptions: int = 0, stolen_seconds: float = 0.0) -> RefereeFacts:
    return referee_facts(seconds=2.0, cpu_seconds=2.0, preemptions=preemptions, stolen_seconds=stolen_seconds)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"referee": refereed(preemptions=400)}, "preempted"),
        ({"referee": refereed(stolen_seconds=0.2)}, "steal"),
        ({"after": 8.0}, "ended while the machine was loaded"),
        ({"referee": refereed(preemptions=20, stolen_seconds=0.01)}, None),
        ({"after": 0.5}, None),
    ],
)
def test_what_disturbed_a_launch_is_said_and_keeps_it_out_of_a_publication(changes, words):
    record = make_record()
    if "after" in changes:
        after = replace(record.launch.state, load_1m=changes["after"])
        record = replace(record, launch=replace(record.launch, state_after=after))
    else:
        record = replace(record, **changes)
    flags = flags_of_load([record])
    assert is_loaded(record) is (words is not None)
    assert any(words in flag for flag in flags) if words else flags == ()
