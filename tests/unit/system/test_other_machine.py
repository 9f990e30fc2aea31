"""Other machines as their kernels' files tell of them; written by hand in the form that their kernels use."""

from collections.abc import Mapping

import pytest

from runner.system import machine, other_machine
from runner.system.kernel_files import numbers
from runner.system.processor import cache_paths
from runner.system.topology import topology_of


def caches(cpus: str, *sizes: str) -> dict[str, str]:
    """The files of these CPUs' caches: L1d, L1i, L2, and L3 if it has a size too."""
    kinds = (("1", "Data"), ("1", "Instruction"), ("2", "Unified"), ("3", "Unified"))
    return {
        f"/sys/devices/system/cpu/cpu{cpu}/cache/index{index}/{name}": text
        for cpu in numbers(cpus)
        for index, ((level, kind), size) in enumerate(zip(kinds, sizes, strict=False))
        for name, text in (("level", level), ("type", kind), ("size", size))
    }


def zones(*millidegrees: str) -> dict[str, str]:
    return {f"/sys/class/thermal/thermal_zone{zone}/temp": text for zone, text in enumerate(millidegrees)}


PI5 = {
    # Four equal cores, two of which are shown.
    "/proc/cpuinfo": "processor\t: 0\nBogoMIPS\t: 108.00\nFeatures\t: fp asimd evtstrm aes\nCPU implementer\t: 0x41\n"
    "CPU architecture: 8\nCPU part\t: 0xd0b\n\nprocessor\t: 1\nCPU implementer\t: 0x41\nCPU part\t: 0xd0b\n\n"
    "Revision\t: d04170\nSerial\t\t: 1234\nModel\t\t: Raspberry Pi 5 Model B Rev 1.0",
    "/proc/device-tree/model": "Raspberry Pi 5 Model B Rev 1.0",
    "/proc/device-tree/compatible": "raspberrypi,5-model-b\0brcm,bcm2712",
    "/proc/meminfo": "MemTotal:        8245232 kB\nMemAvailable:    7504016 kB\nSwapTotal:        102384 kB\n"
    "SwapFree:         100000 kB",
    "/proc/loadavg": "0.52 0.58 0.59 1/467 4711",
    "/proc/pressure/cpu": "some avg10=1.53 avg60=0.20 avg300=0.05 total=1",
    "/sys/devices/system/cpu/online": "0-3",
    "/sys/devices/system/cpu/cpufreq/policy0/scaling_governor": "ondemand",
    "/sys/devices/platform/soc/soc:firmware/get_throttled": "50005",
    **zones("61700"),
    **caches("0-3", "64K", "64K", "512K", "2048K"),
}
ROCK5 = {
    "/proc/cpuinfo": "processor\t: 0\nCPU implementer\t: 0x41\nCPU part\t: 0xd05\n\n"
    "processor\t: 4\nCPU implementer\t: 0x41\nCPU part\t: 0xd0b",
    "/proc/device-tree/model": "Radxa ROCK 5B",
    "/sys/devices/system/cpu/cpufreq/policy0/scaling_governor": "ondemand",
    "/sys/devices/system/cpu/cpufreq/policy4/scaling_governor": "performance",
    "/sys/devices/system/cpu/cpufreq/policy6/scaling_governor": "performance",
    "/sys/devices/system/cpu/online": "0-7",
    **caches("0-3", "32K", "32K", "128K", "3072K"),
    **caches("4-7", "64K", "64K", "512K", "3072K"),
    # Of the whole chip, both clusters of big cores, the LITTLE ones, the center, the GPU and the NPU.
    **zones("46230", "52692", "53615", "47153", "45307", "45307", "46230"),
}
# A server of 128 equal CPUs.
XEON_CACHES = {"L1d": "48K", "L1i": "32K", "L2": "2048K", "L3": "61440K"}
XEON = {
    "/proc/cpuinfo": "\n\n".join(
        f"processor\t: {cpu}\nmodel name\t: Intel(R) Xeon(R) Platinum 8462Y+\nflags\t\t: fpu fma"
        for cpu in range(128)
    ),
    "/sys/devices/system/cpu/online": "0-127",
    **caches("0-127", *XEON_CACHES.values()),
    **{f"/sys/devices/system/cpu/cpu{cpu}/thermal_throttle/core_throttle_count": "1" for cpu in range(128)},
}
# What QEMU shows of its own processor, of a named one, and under KVM.
TCG_ARM = {"/proc/cpuinfo": "processor\t: 0\nCPU implementer\t: 0x00\nCPU part\t: 0x051"}
TCG_AMD = {
    "/proc/cpuinfo": "processor\t: 0\nmodel name\t: QEMU TCG CPU version 2.5+\nflags\t\t: fpu hypervisor"
}
QEMU_A72 = {
    "/proc/cpuinfo": "processor\t: 0\nCPU implementer\t: 0x41\nCPU part\t: 0xd08",
    "/proc/device-tree/compatible": "linux,dummy-virt",
}
CLOCKS = "/sys/devices/system/clocksource/clocksource0/available_clocksource"
KVM = {
    "/proc/cpuinfo": "processor\t: 0\nmodel name\t: Intel(R) Xeon(R) Processor\nflags\t\t: fpu hypervisor fma",
    "/sys/class/dmi/id/sys_vendor": "QEMU",
    CLOCKS: "kvm-clock tsc acpi_pm",
}
GRAVITON = {
    "/proc/cpuinfo": "processor\t: 0\nBogoMIPS\t: 2100.00\nCPU implementer\t: 0x41\nCPU part\t: 0xd40",
    "/sys/class/dmi/id/sys_vendor": "Amazon EC2",
}


def test_a_board_is_known_by_its_name_and_its_cores() -> None:
    found = other_machine.describe(PI5.get, topology_of(PI5.get, range(4)))
    assert found["cpu_model"] == "Raspberry Pi 5 Model B Rev 1.0 (ARM implementer 0x41 part 0xd0b)"
    assert (found["logical_cpus"], found["physical_cores"]) == (4, None)
    assert (found["memory_bytes"], found["swap_bytes"]) == (8245232 * 1024, 102384 * 1024)
    assert (found["governor"], found["simd"], found["hypervisor"]) == ("ondemand", ["asimd"], None)
    assert "1234" not in str(found), "a serial number says whose board it is"


def test_big_and_little_cores_are_told_apart() -> None:
    model = other_machine.describe(ROCK5.get, None)["cpu_model"]
    assert model == "Radxa ROCK 5B (ARM implementer 0x41 part 0xd05 and implementer 0x41 part 0xd0b)"


def test_the_governors_of_all_clusters_are_named() -> None:
    described = other_machine.describe(ROCK5.get, None)["governor"]
    assert described == other_machine.state(ROCK5.get)["governor"] == "ondemand, performance"


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        (PI5, {"L1d": "64K", "L1i": "64K", "L2": "512K", "L3": "2048K"}),
        (ROCK5, {"L1d": "32K, 64K", "L1i": "32K, 64K", "L2": "128K, 512K", "L3": "3072K"}),
        (XEON, XEON_CACHES),
        # The last core of some laptops stands outside the third level.
        (
            {
                "/sys/devices/system/cpu/online": "0-2",
                **caches("0-1", "48K", "64K", "2048K", "24576K"),
                **caches("2", "32K", "64K", "2048K"),
            },
            {"L1d": "48K, 32K", "L1i": "64K", "L2": "2048K", "L3": "24576K"},
        ),
        # The first CPU alone, where a kernel does not say which it has.
        (caches("0-1", "32K", "32K", "256K"), {"L1d": "32K", "L1i": "32K", "L2": "256K"}),
        # A CPU that is off has no folder.
        (
            {"/sys/devices/system/cpu/online": "1", **caches("1", "32K", "32K", "256K")},
            {"L1d": "32K", "L1i": "32K", "L2": "256K"},
        ),
    ],
    ids=["Pi", "ROCK", "Xeon", "a core without a level", "no list of CPUs", "first CPU off"],
)
def test_caches_are_those_of_all_kinds_of_cores_and_those_of_equal_cores_are_named_once(
    files: Mapping[str, str], expected: Mapping[str, str]
) -> None:
    assert other_machine.describe(files.get, None)["caches"] == expected


def test_the_temperature_is_that_of_the_hottest_zone() -> None:
    assert other_machine.state(ROCK5.get)["celsius"] == 53.615
    # A zone may be switched off, broken, or have a number that another one lacks.
    assert other_machine.state(zones("-274000", "", "41000", "40000").get)["celsius"] == 41
    assert other_machine.state(zones("0").get)["celsius"] == 0


def test_throttling_is_counted_of_all_cpus() -> None:
    assert other_machine.state(XEON.get)["throttle_count"] == 128


@pytest.mark.parametrize("files", [PI5, ROCK5, XEON], ids=["Pi", "ROCK", "Xeon"])
def test_every_file_that_is_read_is_asked_for(files: Mapping[str, str]) -> None:
    cpus = tuple(numbers(files["/sys/devices/system/cpu/online"]))
    described = (*other_machine.DESCRIPTION_FILES, *cache_paths(cpus))
    for look, asked in (
        (lambda read: other_machine.describe(read, None), described),
        (other_machine.state, other_machine.state_files(cpus)),
    ):
        known = {path: files[path] for path in asked if path in files}
        assert look(known.get) == look(files.get)


def test_a_request_to_a_machine_of_many_cpus_is_short() -> None:
    """The description is asked for once, and the state before and after each launch."""
    cpus = range(128)
    assert sum(map(len, cache_paths(cpus))) < 32_000
    assert sum(map(len, other_machine.state_files(cpus))) < 20_000


def test_heat_and_low_voltage_are_part_of_the_state() -> None:
    found = other_machine.state(PI5.get)
    assert found == {
        "load_1m": 0.52,
        "busy_processors": None,
        "memory_available_bytes": 7504016 * 1024,
        "swap_used_bytes": 2384 * 1024,
        "governor": "ondemand",
        "turbo": None,
        "cpu_pressure_avg10": 1.53,
        "memory_pressure_avg10": None,
        "io_pressure_avg10": None,
        "throttle_count": None,
        "quota_throttle_count": None,
        "stolen_seconds": None,
        "swapped_pages": None,
        "throttled": 0x50005,
        "celsius": 61.7,
        "cpu_mhz": None,
    }
    assert found.keys() == machine.state().keys()


def test_of_a_machine_that_shows_nothing_nothing_is_known() -> None:
    assert set(other_machine.state({}.get).values()) == {None}
    found = other_machine.describe({}.get, None)
    assert {value for value in found.values() if value not in ([], {})} == {None}
    assert found.keys() | {"architecture", "os", "kernel"} == machine.describe().keys()


@pytest.mark.parametrize(
    ("files", "emulator", "doubtful"),
    [
        (PI5, None, False),
        (GRAVITON, None, False),
        (KVM, None, False),
        (TCG_ARM, "QEMU TCG", False),
        (TCG_AMD, "QEMU TCG", False),
        (QEMU_A72, None, True),
        ({**KVM, CLOCKS: "tsc acpi_pm"}, None, True),
    ],
    ids=[
        "Pi",
        "Graviton",
        "KVM",
        "TCG arm",
        "TCG amd",
        "a named processor in QEMU",
        "QEMU without KVM's clock",
    ],
)
def test_a_machine_is_emulated_by_its_processor_and_doubtful_where_qemu_does_not_say(
    files: Mapping[str, str], emulator: str | None, doubtful: bool
) -> None:
    assert other_machine.emulator(files.get) == emulator
    assert other_machine.may_be_emulated(files.get) is doubtful
