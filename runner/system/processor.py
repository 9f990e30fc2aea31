"""What a kernel's files say of the processor: its model and how it is run. An unknown fact is null, never a guess."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from runner.system.kernel_files import CPU, Read, flag, integer, online

CPUINFO = "/proc/cpuinfo"
_BOARD = "/proc/device-tree/model"
_SIMD = ("sse4_2", "avx", "avx2", "fma", "avx512f", "avx512bw", "avx512vl", "asimd", "sve", "sve2")
# A policy drives the CPUs of one cluster, and has the number of its first CPU. So big and LITTLE cores have one each.
_MOST_POLICIES = 64
_GOVERNORS = tuple(f"{CPU}/cpufreq/policy{first}/scaling_governor" for first in range(_MOST_POLICIES))
_NO_TURBO, _BOOST = f"{CPU}/intel_pstate/no_turbo", f"{CPU}/cpufreq/boost"
_SMT = f"{CPU}/smt/active"
_MOST_CACHES = 5
# Of a Raspberry Pi's firmware. Its folder has another name on the fifth generation.
_GET_THROTTLED = tuple(
    f"/sys/devices/platform/{soc}/{soc}:firmware/get_throttled" for soc in ("soc", "soc@107c000000")
)
_MOST_ZONES = 64
_TEMPERATURES = tuple(f"/sys/class/thermal/thermal_zone{zone}/temp" for zone in range(_MOST_ZONES))

# The files that the functions below read, and those of `cache_paths`.
DESCRIPTION_PATHS = (CPUINFO, _BOARD, *_GOVERNORS, _NO_TURBO, _BOOST, _SMT)
STATE_PATHS = (*_GOVERNORS, _NO_TURBO, _BOOST, *_GET_THROTTLED, *_TEMPERATURES)


def cache_paths(cpus: Sequence[int]) -> tuple[str, ...]:
    """The files that tell the caches of these CPUs: a size for each CPU, and a kind for the first and the last CPU.

    A machine of 128 CPUs has 660 such files, whose names take 31 kB.
    """
    return tuple(
        path
        for index in range(_MOST_CACHES)
        for path in (
            *(_cache(cpu, index, name) for cpu in _ends(cpus) for name in ("level", "type")),
            *(_cache(cpu, index, "size") for cpu in cpus),
        )
    )


def processor(read: Read) -> dict[str, Any]:
    """The facts of a processor, by their names in a record's ``machine``."""
    processors = cpuinfo(read)
    first = processors[0] if processors else {}
    flags = set((first.get("flags") or first.get("Features") or "").split())
    return {
        "cpu_model": first.get("model name") or _arm_model(processors, read),
        # ARM's features never tell.
        "hypervisor": "hypervisor" in flags if "flags" in first else None,
        "governor": governor(read),
        "turbo": turbo(read),
        "smt": flag(read(_SMT)),
        "simd": [name for name in _SIMD if name in flags],
        "caches": _caches(read),
    }


def cpuinfo(read: Read) -> list[Mapping[str, str]]:
    """The lines of each processor in /proc/cpuinfo."""
    found: list[Mapping[str, str]] = []
    for block in (read(CPUINFO) or "").split("\n\n"):
        lines = [line.partition(":") for line in block.splitlines()]
        processor = {name.strip(): value.strip() for name, colon, value in lines if colon}
        if "processor" in processor:
            found.append(processor)
    return found


def governor(read: Read) -> str | None:
    """Who chooses the CPUs' frequencies; several names where clusters differ."""
    return ", ".join(dict.fromkeys(found for path in _GOVERNORS if (found := read(path)))) or None


def turbo(read: Read) -> bool | None:
    """Whether the processor may exceed its nominal frequency."""
    no_turbo = flag(read(_NO_TURBO))
    return not no_turbo if no_turbo is not None else flag(read(_BOOST))


def throttled(read: Read) -> int | None:
    """The bits of a Raspberry Pi's ``get_throttled``."""
    for path in _GET_THROTTLED:
        try:
            return int(read(path) or "", 16)
        except ValueError:
            continue
    return None


def temperature(read: Read) -> float | None:
    """Degrees Celsius in the hottest thermal zone. A board may have one for each cluster, and for its GPU."""
    zones = (integer(read(path)) for path in _TEMPERATURES)
    return max((zone / 1000 for zone in zones if zone is not None and zone >= 0), default=None)


def _arm_model(processors: list[Mapping[str, str]], read: Read) -> str | None:
    """ARM kernels give numbers, several where big and LITTLE cores differ, and on boards a device-tree name."""
    board = (read(_BOARD) or "").rstrip("\0") or None
    cores = dict.fromkeys(
        (each.get("CPU implementer"), each["CPU part"]) for each in processors if "CPU part" in each
    )
    if not cores:
        return board
    model = "ARM " + " and ".join(f"implementer {implementer} part {part}" for implementer, part in cores)
    return f"{board} ({model})" if board else model


def _caches(read: Read) -> dict[str, str]:
    """The size of each cache; where cores differ each size, in the order of the CPUs."""
    cpus = online(read) or (0,)
    found: dict[str, str] = {}
    for index in range(_MOST_CACHES):
        name = next((name for cpu in _ends(cpus) if (name := _cache_name(read, cpu, index))), None)
        if name:
            sizes = dict.fromkeys(size for cpu in cpus if (size := read(_cache(cpu, index, "size"))))
            found |= {name: ", ".join(sizes)} if sizes else {}
    return found


def _cache_name(read: Read, cpu: int, index: int) -> str | None:
    """A cache's name, such as L1d. A kernel numbers the caches of all CPUs alike, but not every CPU has each cache."""
    level, kind = (read(_cache(cpu, index, name)) for name in ("level", "type"))
    suffix = {"Data": "d", "Instruction": "i"}.get(kind or "", "")
    return f"L{level}{suffix}" if level and kind else None


def _cache(cpu: int, index: int, name: str) -> str:
    return f"{CPU}/cpu{cpu}/cache/index{index}/{name}"


def _ends(cpus: Sequence[int]) -> Iterable[int]:
    """The first and the last CPU: one of each kind, where big and LITTLE cores differ."""
    return dict.fromkeys((*cpus[:1], *cpus[-1:]))
