"""Which CPUs a cell runs on."""

import os


def usable_cpus(machine_cpus: int) -> tuple[int, ...]:
    """The CPUs that this process may use. A ``taskset`` around the runner holds for its cells too.

    Args:
        machine_cpus: the number of CPUs of the machine that the cells run on. A remote daemon's machine has another
            number of CPUs. The affinity of this process says nothing about them, so all of them are returned.
    """
    if not hasattr(os, "sched_getaffinity") or os.cpu_count() != machine_cpus:
        return tuple(range(machine_cpus))
    return tuple(sorted(os.sched_getaffinity(0)))


def last_cpus(count: int, usable: tuple[int, ...]) -> tuple[int, ...]:
    """The last ``count`` CPUs, because a host's own work tends to run on the first."""
    return usable[-count:]
