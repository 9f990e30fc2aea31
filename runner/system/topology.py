"""Where each CPU stands in its machine: the core that it shares, its memory, and how fast its kind is."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache

from runner.system.kernel_files import CPU, Read, integer, numbers, read_here

NODES = "/sys/devices/system/node"
# Intel's kernels list the CPUs of each kind; others give each CPU a capacity.
_FAST, _SLOW = "/sys/devices/cpu_core/cpus", "/sys/devices/cpu_atom/cpus"
_MOST_NODES = 16
# CPUs of a kind differ a little in what their kernel calls their capacity, and kinds differ by far more.
_SAME_KIND = 0.9


@dataclass(frozen=True, kw_only=True)
class Standing:
    """One CPU: all CPUs of its core (itself among them), its NUMA node, and its capacity beside other kinds."""

    core: frozenset[int]
    node: int = 0
    capacity: int = 1


Topology = Mapping[int, Standing]


def topology_paths(cpus: Iterable[int]) -> tuple[str, ...]:
    """The files that `topology_of` reads for these CPUs."""
    return (
        *(path for cpu in cpus for path in (_siblings(cpu), _capacity(cpu))),
        *(_node(node) for node in range(_MOST_NODES)),
        *(_FAST, _SLOW),
    )


def topology_of(read: Read, cpus: Iterable[int]) -> Topology | None:
    """The topology as a kernel's files tell it; None where they do not (macOS, some containers)."""
    nodes = _listed(read, {node: _node(node) for node in range(_MOST_NODES)})
    kinds = _listed(read, {2: _FAST, 1: _SLOW})
    found = {}
    for cpu in cpus:
        try:
            core = frozenset(numbers(read(_siblings(cpu)) or ""))
        except ValueError:
            return None
        capacity = integer(read(_capacity(cpu)))
        found[cpu] = Standing(core=core, node=nodes.get(cpu, 0), capacity=capacity or kinds.get(cpu, 1))
    return found or None


@cache
def topology_here() -> Topology | None:
    """The topology of this machine."""
    try:
        cpus = tuple(numbers(read_here(f"{CPU}/online") or ""))
    except ValueError:
        return None
    return topology_of(read_here, cpus)


def kinds_of(cpus: Iterable[int], topology: Topology) -> tuple[tuple[int, ...], ...]:
    """The CPUs of each kind, the fastest kind first. A CPU that the topology lacks counts as one of the slowest."""
    kinds: list[list[int]] = []
    fastest = 0
    for cpu in sorted(cpus, key=lambda each: -_capacity_of(each, topology)):
        capacity = _capacity_of(cpu, topology)
        if not kinds or capacity < _SAME_KIND * fastest:
            kinds.append([])
            fastest = capacity
        kinds[-1].append(cpu)
    return tuple(tuple(sorted(kind)) for kind in kinds)


def _capacity_of(cpu: int, topology: Topology) -> int:
    return topology[cpu].capacity if cpu in topology else 1


def _listed(read: Read, paths: Mapping[int, str]) -> dict[int, int]:
    """What each CPU is listed under."""
    found: dict[int, int] = {}
    for value, path in paths.items():
        text = read(path)
        if text:
            found |= dict.fromkeys(numbers(text), value)
    return found


def _siblings(cpu: int) -> str:
    return f"{CPU}/cpu{cpu}/topology/thread_siblings_list"


def _capacity(cpu: int) -> str:
    return f"{CPU}/cpu{cpu}/cpu_capacity"


def _node(node: int) -> str:
    return f"{NODES}/node{node}/cpulist"
