"""Which CPUs a cell runs on."""

import os


def usable_cpus(machine_cpus: int) -> tuple[int, ...]:
    """The CPUs that this process may use: what ``taskset`` allows a runner holds for its cells too.

    Args:
        machine_cpus: of the machine that the cells run on. A daemon's may be another than this one: where it has another
            number of CPUs, what this process may use says nothing of them, and all are given out.
    """
    if not hasattr(os, "sched_getaffinity") or os.cpu_count() != machine_cpus:
        return tuple(range(machine_cpus))
    return tuple(sorted(os.sched_getaffinity(0)))


def last_cpus(count: int, usable: tuple[int, ...]) -> tuple[int, ...]:
    """The last ``count`` of them: the first is where a host's own work tends to run."""
    return usable[-count:]
