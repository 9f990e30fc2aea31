"""The choice of a launch's CPUs: of one kind, of different cores and near one memory, as far as the machine has them."""

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from runner.system.topology import Topology, kinds_of


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


def choose_cpus(count: int, usable: Iterable[int], topology: Topology | None) -> CpuSet:
    """``count`` usable CPUs, or fewer if there are fewer.

    They are of one kind, the fastest that has enough: on a mixture the slowest CPU decides. One CPU of each core comes
    before a second of any, because two threads of one core share its arithmetic units. They are of one NUMA node where
    one has enough cores. Among equals they are the last, because a host's own work tends to run on the first.

    Args:
        count: the number of CPUs.
        usable: the CPUs that may be used.
        topology: where each CPU stands. None if unknown: each CPU then counts as a core of one kind and node.
    """
    chosen = _by_cores(count, _pool(count, tuple(usable), topology or {}), topology)
    siblings = None
    if topology is not None:
        groups = {tuple(sorted(_core(cpu, topology) & set(chosen))) for cpu in chosen}
        siblings = tuple(sorted(group for group in groups if len(group) > 1))
    return CpuSet(cpus=tuple(sorted(chosen)), siblings=siblings)


def cpu_beside(launch: CpuSet, usable: Iterable[int], topology: Topology | None) -> str | None:
    """A usable CPU that the launch does not have, of another core if one is left.

    None if the launch has every usable CPU.
    """
    others = set(usable) - set(launch.cpus)
    used = set().union(*(_core(cpu, topology) for cpu in launch.cpus))
    return str(choose_cpus(1, others - used or others, topology)) or None


def _pool(count: int, usable: tuple[int, ...], topology: Topology) -> tuple[int, ...]:
    """The CPUs to choose from: the smallest group that has enough, of the groups in the order of `choose_cpus`."""
    kinds = kinds_of(usable, topology)
    for kind in kinds:
        for group in (*_nodes(kind, topology), kind):
            if len({_core(cpu, topology) & set(kind) for cpu in group}) >= count:
                return group
        if len(kind) >= count:
            return kind
    return tuple(usable)


def _nodes(cpus: tuple[int, ...], topology: Topology) -> Iterator[tuple[int, ...]]:
    """The CPUs of each NUMA node, that of the last CPU first."""
    node = {cpu: topology[cpu].node if cpu in topology else 0 for cpu in cpus}
    for each in dict.fromkeys(node[cpu] for cpu in sorted(cpus, reverse=True)):
        yield tuple(cpu for cpu in cpus if node[cpu] == each)


def _by_cores(count: int, pool: Iterable[int], topology: Topology | None) -> list[int]:
    """The last CPUs of a pool, one of each core before a second of any."""
    left = sorted(pool, reverse=True)
    chosen: list[int] = []
    while left and len(chosen) < count:
        taken: set[int] = set()
        for cpu in list(left):
            if cpu not in taken and len(chosen) < count:
                chosen.append(cpu)
                left.remove(cpu)
                taken |= _core(cpu, topology)
    return chosen


def _core(cpu: int, topology: Topology | None) -> frozenset[int]:
    standing = (topology or {}).get(cpu)
    return frozenset({cpu}) if standing is None else standing.core | {cpu}


def _listed(cpus: Iterable[int]) -> str:
    return ",".join(map(str, cpus))
