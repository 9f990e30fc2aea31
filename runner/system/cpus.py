"""The choice of a launch's CPUs: different cores first, because two threads of one core share its arithmetic units."""

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

_CPUS = Path("/sys/devices/system/cpu")
# Each CPU with all CPUs of its core, itself among them.
Cores = Mapping[int, frozenset[int]]


@dataclass(frozen=True, kw_only=True)
class CpuSet:
    """The CPUs of a launch. ``siblings`` has a group for each core that several of them share; None if unknown."""

    cpus: tuple[int, ...]
    siblings: tuple[tuple[int, ...], ...] | None

    def __str__(self) -> str:
        return _listed(self.cpus)

    @property
    def sibling_lists(self) -> tuple[str, ...] | None:
        """The siblings as a record has them: ``("2,6", "3,7")``."""
        return None if self.siblings is None else tuple(map(_listed, self.siblings))

    def too_few(self, asked: int) -> str | None:
        """The reason why a launch cannot have the ``asked`` CPUs here; None if it can."""
        if len(self.cpus) >= asked:
            return None
        return f"its limits ask for {asked} CPUs, and {len(self.cpus)} may be used here"


def usable_cpus(machine_cpus: int) -> tuple[int, ...]:
    """The CPUs that this process may use. A ``taskset`` around the runner holds for its cells too.

    Args:
        machine_cpus: the number of CPUs of the machine that the cells run on. A remote daemon's machine has another
            number of CPUs. The affinity of this process says nothing about them, so all of them are returned.
    """
    if not hasattr(os, "sched_getaffinity") or os.cpu_count() != machine_cpus:
        return tuple(range(machine_cpus))
    return tuple(sorted(os.sched_getaffinity(0)))


def choose_cpus(count: int, usable: Iterable[int], cores: Cores | None) -> CpuSet:
    """The last ``count`` usable CPUs, or fewer if there are fewer. One CPU of each core comes before a second of any.

    They are the last because a host's own work tends to run on the first.

    Args:
        count: the number of CPUs.
        usable: the CPUs that may be used.
        cores: the CPUs that share a core. None if unknown: each CPU then counts as a core.
    """
    left = sorted(usable, reverse=True)
    chosen: list[int] = []
    while left and len(chosen) < count:
        taken: set[int] = set()
        for cpu in list(left):
            if cpu not in taken and len(chosen) < count:
                chosen.append(cpu)
                left.remove(cpu)
                taken |= _core(cpu, cores)
    siblings = None
    if cores is not None:
        groups = {tuple(sorted(_core(cpu, cores) & set(chosen))) for cpu in chosen}
        siblings = tuple(sorted(group for group in groups if len(group) > 1))
    return CpuSet(cpus=tuple(sorted(chosen)), siblings=siblings)


def cpu_beside(launch: CpuSet, usable: Iterable[int], cores: Cores | None) -> str | None:
    """A usable CPU that the launch does not have, of another core if one is left.

    None if the launch has every usable CPU.
    """
    others = set(usable) - set(launch.cpus)
    used = set().union(*(_core(cpu, cores) for cpu in launch.cpus))
    return str(choose_cpus(1, others - used or others, cores)) or None


@cache
def cores_here(directory: Path = _CPUS) -> Cores | None:
    """The CPUs of this machine that share a core, as its kernel says; None if it does not (macOS, some containers)."""
    found = {}
    for path in directory.glob("cpu[0-9]*/topology/thread_siblings_list"):
        try:
            found[int(path.parts[-3].removeprefix("cpu"))] = frozenset(
                _read(path.read_text(encoding="ascii"))
            )
        except (OSError, ValueError):
            return None
    return found or None


def _core(cpu: int, cores: Cores | None) -> frozenset[int]:
    return (cores or {}).get(cpu, frozenset({cpu})) | {cpu}


def _read(text: str) -> Iterable[int]:
    """The numbers of ``0-1,4``."""
    for part in text.strip().split(","):
        first, _, last = part.partition("-")
        yield from range(int(first), int(last or first) + 1)


def _listed(cpus: Iterable[int]) -> str:
    return ",".join(map(str, cpus))
