"""The machine's description and its state, read from psutil, /proc and /sys. An unknown fact is null, never a guess.

The runner reads this on the host and hands it to the record. Inside an emulated container /proc/cpuinfo shows the
host's processor, so the runner never reads it there.
"""

import platform
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import psutil

_ARCHITECTURES = {"x86_64": "amd64", "AMD64": "amd64", "aarch64": "arm64", "arm64": "arm64"}
_SIMD = ("sse4_2", "avx", "avx2", "fma", "avx512f", "avx512bw", "avx512vl", "asimd", "sve", "sve2")
_CPU = Path("/sys/devices/system/cpu")
_GIB = 2**30


def architecture() -> str:
    """This machine's architecture by Docker's name: amd64 or arm64."""
    return architecture_named(platform.machine())


def architecture_named(said: str) -> str:
    """Docker's name of the architecture that a kernel calls ``said``."""
    return _ARCHITECTURES.get(said, said)


@cache
def describe() -> dict[str, Any]:
    """The description of the machine. The keys are those of a record's ``machine``."""
    memory, swap = psutil.virtual_memory(), psutil.swap_memory()
    cpuinfo = _cpuinfo()
    flags = set((cpuinfo.get("flags") or cpuinfo.get("Features") or "").split())
    return {
        "cpu_model": cpuinfo.get("model name") or _arm_model(cpuinfo),
        "architecture": architecture(),
        "logical_cpus": psutil.cpu_count(logical=True),
        "physical_cores": psutil.cpu_count(logical=False),
        "memory_bytes": memory.total,
        "swap_bytes": swap.total,
        "os": _os_name(),
        "kernel": platform.release(),
        "hypervisor": "hypervisor" in flags if flags else None,
        "governor": _text(_CPU / "cpu0/cpufreq/scaling_governor"),
        "turbo": _turbo(),
        "smt": _flag(_CPU / "smt/active"),
        "simd": [name for name in _SIMD if name in flags],
        "caches": _caches(),
    }


def fingerprint(described: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """The facts that tell one machine from another: the part of its description that a content key depends on.

    Args:
        described: a machine as a record holds it; None for this one.

    A machine that the runner cannot inspect is identified by its daemon too. Other records lack the daemon. Memory
    counts in whole GiB, because a kernel keeps a few kB more or less for itself after each reboot.
    """
    whole = describe() if described is None else described
    found = {key: whole.get(key) for key in ("cpu_model", "architecture", "logical_cpus")}
    if whole.get("daemon") is not None:
        found["daemon"] = whole["daemon"]
    memory = whole.get("memory_bytes")
    return {**found, "memory_bytes": None if memory is None else round(memory / _GIB) * _GIB}


def state() -> dict[str, Any]:
    """The machine's state at this moment. The keys are those of a record's ``launch.state``."""
    memory, swap = psutil.virtual_memory(), psutil.swap_memory()
    frequency = psutil.cpu_freq()
    return {
        "load_1m": round(psutil.getloadavg()[0], 2),
        "memory_available_bytes": memory.available,
        "swap_used_bytes": swap.used,
        "cpu_pressure_avg10": _pressure(),
        "throttle_count": _integer(_CPU / "cpu0/thermal_throttle/core_throttle_count"),
        "cpu_mhz": round(frequency.current) if frequency and frequency.current else None,
    }


def _cpuinfo() -> dict[str, str]:
    """The first processor's lines of /proc/cpuinfo."""
    found: dict[str, str] = {}
    for line in (_text(Path("/proc/cpuinfo")) or "").splitlines():
        name, separator, value = line.partition(":")
        if separator:
            found.setdefault(name.strip(), value.strip())
    return found


def _arm_model(cpuinfo: dict[str, str]) -> str | None:
    """ARM kernels give numbers and, on boards, a device-tree name."""
    board = _text(Path("/proc/device-tree/model"))
    part = cpuinfo.get("CPU part")
    if part is None:
        return board.rstrip("\0") if board else None
    core = f"ARM implementer {cpuinfo.get('CPU implementer')} part {part}"
    return f"{board.rstrip(chr(0))} ({core})" if board else core


def _os_name() -> str | None:
    try:
        return platform.freedesktop_os_release().get("PRETTY_NAME")
    except OSError:
        return None


def _turbo() -> bool | None:
    no_turbo = _flag(_CPU / "intel_pstate/no_turbo")
    return not no_turbo if no_turbo is not None else _flag(_CPU / "cpufreq/boost")


def _caches() -> dict[str, str]:
    found: dict[str, str] = {}
    for index in sorted((_CPU / "cpu0/cache").glob("index*")):
        level, kind, size = (_text(index / name) for name in ("level", "type", "size"))
        if level and kind and size:
            suffix = {"Data": "d", "Instruction": "i"}.get(kind, "")
            found[f"L{level}{suffix}"] = size
    return found


def _pressure() -> float | None:
    text = _text(Path("/proc/pressure/cpu"))
    if not text:
        return None
    for word in text.splitlines()[0].split():
        name, _, value = word.partition("=")
        if name == "avg10":
            return float(value)
    return None


def _flag(path: Path) -> bool | None:
    value = _integer(path)
    return None if value is None else bool(value)


def _integer(path: Path) -> int | None:
    text = _text(path)
    return int(text) if text and text.lstrip("-").isdigit() else None


def _text(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return None
