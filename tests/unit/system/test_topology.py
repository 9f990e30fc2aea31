"""The CPUs of a launch on recorded machines: of one kind, of different cores, near one memory."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.system.cpus import choose_cpus
from runner.system.kernel_files import CPU, numbers
from runner.system.topology import NODES, Topology, kinds_of, topology_of, topology_paths

# What the kernels of real machines say; each with the public recording that it was taken from.
RECORDED: Mapping[str, Any] = json.loads(
    (Path(__file__).parent / "topologies.json").read_text(encoding="utf-8")
)
LAPTOP, XEON, EPYC, OPTERON, PHONE, PIONEER, BOARD, POWER, LOONGSON, HYBRID = RECORDED


def files(name: str) -> dict[str, str]:
    """The recorded files of a kernel, by their paths."""
    machine = RECORDED[name]
    found = {
        f"{CPU}/cpu{cpu}/topology/thread_siblings_list": core
        for core in machine["cores"].split()
        for cpu in numbers(core)
    }
    found |= {f"{NODES}/node{node}/cpulist": cpus for node, cpus in machine["nodes"].items()}
    for cpus, capacity in machine.get("capacities", {}).items():
        found |= {f"{CPU}/cpu{cpu}/cpu_capacity": str(capacity) for cpu in numbers(cpus)}
    if "fast" in machine:
        found |= {
            "/sys/devices/cpu_core/cpus": machine["fast"],
            "/sys/devices/cpu_atom/cpus": machine["slow"],
        }
    return found


def machine(name: str) -> Topology:
    cpus = tuple(numbers(RECORDED[name]["online"]))
    found = topology_of(files(name).get, cpus)
    assert found is not None
    return found


def choose(name: str, count: int) -> str:
    topology = machine(name)
    return str(choose_cpus(count, topology, topology))


@pytest.mark.parametrize(
    ("name", "count", "chosen"),
    [
        (LAPTOP, 2, "2,3"),
        (LAPTOP, 3, "1,2,3"),
        # The node of the last CPU; it has eight cores.
        (XEON, 2, "59,63"),
        (XEON, 8, "35,39,43,47,51,55,59,63"),
        # More cores than the last two nodes have: those of the node that holds half of all CPUs.
        (XEON, 9, "46,48,50,52,54,56,58,60,62"),
        (EPYC, 6, "90,91,92,93,94,95"),
        (EPYC, 7, "89,90,91,92,93,94,95"),
        (EPYC, 48, ",".join(map(str, range(48, 96)))),
        # Two threads share a module of this processor, and a node has two modules.
        (OPTERON, 2, "13,15"),
        (OPTERON, 3, "11,13,15"),
        # One core is the fastest. Two of a kind come before a mixture with it.
        (PHONE, 1, "7"),
        (PHONE, 2, "5,6"),
        (PHONE, 4, "3,4,5,6"),
        (PHONE, 5, "3,4,5,6,7"),
        (PIONEER, 4, "60,61,62,63"),
        (PIONEER, 17, ",".join(map(str, range(47, 64)))),
        (BOARD, 1, "3"),
        (POWER, 2, "59,63"),
        (POWER, 16, ",".join(map(str, range(3, 64, 4)))),
        (LOONGSON, 2, "30,31"),
        # Six fast cores of two threads: never a slow core, and threads are shared before kinds are mixed.
        (HYBRID, 1, "11"),
        (HYBRID, 6, "2,4,5,7,9,11"),
        (HYBRID, 8, "2,4,5,7,8,9,10,11"),
        (HYBRID, 12, "0,1,2,3,4,5,6,7,8,9,10,11"),
    ],
)
def test_cpus_of_a_recorded_machine(name: str, count: int, chosen: str) -> None:
    assert choose(name, count) == chosen


@pytest.mark.parametrize("name", RECORDED)
def test_every_file_that_is_read_is_asked_for(name: str) -> None:
    assert files(name).keys() <= set(topology_paths(machine(name)))


def test_a_node_without_memory_files_is_one_node_and_a_machine_without_cores_is_unknown() -> None:
    assert {each.node for each in machine(PHONE).values()} == {0}
    assert topology_of({}.get, range(4)) is None


@given(name=st.sampled_from(sorted(RECORDED)), count=st.integers(1, 100), data=st.data())
def test_kinds_are_mixed_only_where_none_has_enough_and_nodes_only_where_none_has_enough_cores(
    name: str, count: int, data: st.DataObject
) -> None:
    topology = machine(name)
    usable = data.draw(st.sets(st.sampled_from(sorted(topology)), min_size=1))
    chosen = choose_cpus(count, usable, topology).cpus
    assert set(chosen) <= usable
    assert len(chosen) == min(count, len(usable))
    kinds = [set(kind) for kind in kinds_of(usable, topology)]
    own = next((kind for kind in kinds if set(chosen) <= kind), None)
    assert (own is not None) is any(len(kind) >= len(chosen) for kind in kinds)
    if own is None or count > len(usable):
        return
    cores = {topology[cpu].core for cpu in own}
    assert len({topology[cpu].core for cpu in chosen}) == min(count, len(cores)), "different cores come first"
    nodes: dict[int, set[frozenset[int]]] = {}
    for cpu in own:
        nodes.setdefault(topology[cpu].node, set()).add(topology[cpu].core)
    if any(len(each) >= count for each in nodes.values()):
        assert len({topology[cpu].node for cpu in chosen}) == 1
