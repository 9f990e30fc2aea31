"""What disturbs a launch, read from the files of kernels with control groups of version 1, of version 2, or neither."""

from collections.abc import Mapping

import pytest

from runner.system.disturbance import disturbances
from runner.system.kernel_files import Read

PSI = "some avg10=12.50 avg60=1.00 avg300=0.00 total=9\nfull avg10=3.00 avg60=0.00 avg300=0.00 total=1"
SERVER = {
    "sys/devices/system/cpu/online": "0-11",
    "proc/stat": "cpu  100 0 50 9000 0 0 0 250 0 0\ncpu0 100 0 50 9000 0 0 0 250 0 0",
    "proc/vmstat": "nr_free_pages 5\npswpin 7\npswpout 11",
    "proc/pressure/cpu": PSI,
    "proc/pressure/memory": PSI.replace("12.50", "0.25"),
    "proc/pressure/io": PSI.replace("12.50", "1.75"),
    "sys/devices/system/cpu/cpufreq/policy0/scaling_governor": "powersave",
    "sys/devices/system/cpu/intel_pstate/no_turbo": "1",
    "sys/devices/system/cpu/cpu0/thermal_throttle/core_throttle_count": "2",
    "sys/devices/system/cpu/cpu11/thermal_throttle/core_throttle_count": "40",
}
VERSION_1 = {
    "proc/self/cgroup": "5:cpuacct:/a\n4:cpu:/a/b\n1:name=systemd:/",
    "sys/fs/cgroup/cpu/a/b/cpu.stat": "nr_periods 9\nnr_throttled 3\nthrottled_time 12",
    "sys/fs/cgroup/cpu/a/cpu.stat": "nr_periods 9\nnr_throttled 4\nthrottled_time 12",
    "sys/fs/cgroup/cpu/cpu.stat": "nr_periods 0\nnr_throttled 0\nthrottled_time 0",
}
JOINED = {
    "proc/self/cgroup": "4:cpu,cpuacct:/",
    "sys/fs/cgroup/cpu,cpuacct/cpu.stat": "nr_periods 9\nnr_throttled 5\nthrottled_time 12",
}
VERSION_2 = {
    "proc/self/cgroup": "0::/user.slice/x.scope",
    "sys/fs/cgroup/user.slice/x.scope/cpu.stat": "usage_usec 1\nnr_periods 9\nnr_throttled 6\nthrottled_usec 1",
    "sys/fs/cgroup/cpu.stat": "usage_usec 1",
}
NO_QUOTA = {"proc/self/cgroup": "0::/", "sys/fs/cgroup/cpu.stat": "usage_usec 1"}


def read_of(files: Mapping[str, str]) -> Read:
    return lambda path: files.get(path.lstrip("/"))


def test_a_server_tells_frequency_pressure_throttling_steal_and_swap():
    found = disturbances(read_of(SERVER))
    assert found == {
        "governor": "powersave",
        "turbo": False,
        "cpu_pressure_avg10": 12.5,
        "memory_pressure_avg10": 0.25,
        "io_pressure_avg10": 1.75,
        "throttle_count": 42,
        "throttled": None,
        "celsius": None,
        "quota_throttle_count": None,
        "stolen_seconds": 2.5,
        "swapped_pages": 18,
    }


@pytest.mark.parametrize(
    ("groups", "throttles"),
    [(VERSION_1, 7), (JOINED, 5), (VERSION_2, 6), (NO_QUOTA, None)],
    ids=["version 1", "version 1, joined", "version 2", "version 2 without a quota"],
)
def test_a_quota_is_found_in_the_own_control_group_and_those_above(groups, throttles):
    assert disturbances(read_of(groups))["quota_throttle_count"] == throttles


def test_what_a_system_does_not_say_is_unknown():
    assert set(disturbances(read_of({})).values()) == {None}


@pytest.mark.parametrize("text", ["", "x", "some", "some avg10=", "some avg10=high"])
def test_a_file_of_another_form_is_unknown(text):
    files = {name: text for name in (*SERVER, *VERSION_1) if "scaling_governor" not in name}
    assert set(disturbances(read_of(files)).values()) == {None}


def test_turbo_is_known_of_both_kinds_of_drivers():
    for text, expected in (("1", True), ("0", False), ("", None)):
        assert disturbances(read_of({"sys/devices/system/cpu/cpufreq/boost": text}))["turbo"] is expected
