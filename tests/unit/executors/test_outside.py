"""What a container has used, read from recorded files of kernels with control groups of either version."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from runner.executors import outside
from runner.executors.channel import UNSEEN
from runner.executors.outside import peak_of_container, seen_of_container

CONTAINER = "4f1d" * 16
# Three processes of a container: its init, and a launch with one child.
INIT, LAUNCH, CHILD = 901, 917, 918
STATUS = """Name:	python3
VmPeak:	  412000 kB
VmHWM:	  {peak} kB
VmRSS:	   60000 kB
voluntary_ctxt_switches:	40
nonvoluntary_ctxt_switches:	{switches}
"""
PROC = {
    f"{INIT}/status": STATUS.format(peak=4, switches=9),
    f"{LAUNCH}/status": STATUS.format(peak=61440, switches=3),
    f"{LAUNCH}/task/{LAUNCH}/status": STATUS.format(peak=61440, switches=3),
    f"{LAUNCH}/task/{LAUNCH + 10}/status": STATUS.format(peak=61440, switches=4),
    f"{CHILD}/status": STATUS.format(peak=1024, switches=5),
    f"{CHILD}/task/{CHILD}/status": STATUS.format(peak=1024, switches=5),
    "stat": "cpu  9 0 9 90 0 0 0 70 0 0\ncpu0 1 0 1 10 0 0 0 20 0 0\ncpu1 8 0 8 80 0 0 0 50 0 0\n",
}
PROCESSES = f"{INIT}\n{LAUNCH}\n{CHILD}\n"
# Debian 11 with version 1: every controller has a hierarchy.
VERSION_1 = {
    "proc": {
        f"{INIT}/cgroup": f"11:memory:/docker/{CONTAINER}\n5:cpu,cpuacct:/docker/{CONTAINER}\n"
        f"1:name=systemd:/docker/{CONTAINER}\n0::/system.slice/containerd.service\n"
    },
    "cgroup": {
        f"cpuacct/docker/{CONTAINER}/cpuacct.usage": "1500000000\n",
        f"cpuacct/docker/{CONTAINER}/cgroup.procs": PROCESSES,
    },
}
# Debian 12 and Raspberry Pi OS with version 2 under systemd: one hierarchy, and a scope for each container.
SCOPE = f"system.slice/docker-{CONTAINER}.scope"
VERSION_2 = {
    "proc": {f"{INIT}/cgroup": f"0::/{SCOPE}\n"},
    "cgroup": {
        f"{SCOPE}/cpu.stat": "usage_usec 1500000\nuser_usec 1400000\nsystem_usec 100000\nnr_periods 0\n",
        f"{SCOPE}/cgroup.procs": PROCESSES,
    },
}
# The same without systemd.
WITHOUT_SYSTEMD = {
    "proc": {f"{INIT}/cgroup": f"0::/docker/{CONTAINER}\n"},
    "cgroup": {
        f"docker/{CONTAINER}/cpu.stat": "usage_usec 1500000\n",
        f"docker/{CONTAINER}/cgroup.procs": PROCESSES,
    },
}


def record(directory: Path, files: Mapping[str, str]) -> None:
    for name, text in files.items():
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


@pytest.fixture(params=[VERSION_1, VERSION_2, WITHOUT_SYSTEMD], ids=["1", "2", "2 without systemd"])
def kernel(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    record(tmp_path / "proc", {**PROC, **request.param["proc"]})
    record(tmp_path / "cgroup", request.param["cgroup"])
    monkeypatch.setattr(outside, "_PROC", tmp_path / "proc")
    monkeypatch.setattr(outside, "_CGROUPS", tmp_path / "cgroup")
    monkeypatch.setattr(outside, "_ticks_a_second", lambda: 100)
    return tmp_path


def test_a_container_is_seen_without_its_init_by_either_version(kernel):
    seen = seen_of_container(INIT, CONTAINER, [1])
    assert (seen.cpu_seconds, seen.preemptions, seen.stolen_seconds) == (1.5, 12, 0.5)
    assert peak_of_container(INIT, CONTAINER) == (61440 + 1024) * 1024


def test_a_process_of_another_group_is_not_taken_for_the_container(kernel):
    assert seen_of_container(INIT, "a" * 64, [1]) == UNSEEN
    assert peak_of_container(INIT, "a" * 64) is None


def test_what_has_ended_or_is_hidden_is_unknown(kernel):
    for path in sorted((kernel / "cgroup").rglob("*.*")):
        if path.is_file():
            path.unlink()
    assert seen_of_container(INIT, CONTAINER, [7]) == UNSEEN
    assert peak_of_container(INIT, CONTAINER) is None
    assert seen_of_container(INIT + 1, CONTAINER, [1]) == UNSEEN
