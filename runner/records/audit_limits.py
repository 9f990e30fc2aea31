"""The limits in force are those that were asked for, and what a launch reached lies within them."""

import re
from collections.abc import Iterator

from runner.records.contradiction import Contradiction, Rule, contradiction
from runner.records.failure import FailureKind
from runner.records.record import Record

_KIB = 1024
_LIST = re.compile(r"[0-9]{1,9}(,[0-9]{1,9})*\Z")


def requested(record: Record) -> Iterator[Contradiction]:
    """A launch gets the limits that its work asks for."""
    if not record.work:
        return
    for name in ("memory_bytes", "pids", "threads"):
        asked, given = getattr(record.work.limits, name), getattr(record.launch.limits, name)
        if asked != given:
            yield contradiction(
                f"the work asks for {name} {asked}, and {given} was in force",
                *(f"work.limits.{name}", f"launch.limits.{name}"),
            )


def cpu_set(record: Record) -> Iterator[Contradiction]:
    """A launch that started got no more CPUs than its limits ask for, each once. It once got fewer where there were."""
    if record.failure and record.failure.kind == FailureKind.NOT_STARTED.value:
        return
    said = record.launch.limits.cpuset
    if said is None:
        # A system that knows no CPU sets, such as macOS.
        return
    if not _LIST.match(said):
        yield contradiction(f"the CPU set is {said}, which is no list of CPUs", "launch.limits.cpuset")
        return
    cpus = [int(each) for each in said.split(",")]
    if cpus != sorted(set(cpus)) or ",".join(map(str, cpus)) != said:
        yield contradiction(f"the CPU set {said} is not in order, each once", "launch.limits.cpuset")
    if record.work and len(cpus) > record.work.limits.cpus:
        yield contradiction(
            f"the limits ask for {record.work.limits.cpus} CPUs, and the CPU set {said} holds {len(cpus)}",
            *("launch.limits.cpuset", "work.limits.cpus"),
        )
    here = record.machine.logical_cpus
    if isinstance(here, int) and len(cpus) > here:
        yield contradiction(
            f"the machine has {here} CPUs, and the CPU set {said} holds {len(cpus)}",
            *("launch.limits.cpuset", "machine.logical_cpus"),
        )


def siblings(record: Record) -> Iterator[Contradiction]:
    """CPUs that share a core are CPUs of the launch, each in one core."""
    groups = [each.split(",") for each in record.launch.limits.siblings or ()]
    named = [cpu for group in groups for cpu in group]
    own = (record.launch.limits.cpuset or "").split(",")
    if len(set(named)) != len(named) or not set(named) <= set(own):
        yield contradiction(
            f"{' and '.join(map(','.join, groups))} share a core, and the CPU set is {record.launch.limits.cpuset}",
            *("launch.limits.siblings", "launch.limits.cpuset"),
        )


def enforced(record: Record) -> Iterator[Contradiction]:
    """A limit is named once."""
    names = record.launch.limits.enforced
    if len(set(names)) != len(names):
        yield contradiction("a limit is named twice as enforced", "launch.limits.enforced")


def memory(record: Record) -> Iterator[Contradiction]:
    """What passed stayed within its memory. What the referee read is whole KiB, as the kernel counts.

    Pages of files that other processes read first count in a process's peak and not in its limit: hence twice. A process
    beside the runner shares the cgroup of the machine.
    """
    if record.failure or record.measurement is None:
        return
    seen = record.referee.vmhwm_bytes if record.referee else None
    if seen is not None and seen % _KIB:
        yield contradiction(
            f"the referee read {seen} bytes of memory, and a kernel counts whole KiB", "referee.vmhwm_bytes"
        )
    limit, installed = record.launch.limits.memory_bytes, record.machine.memory_bytes
    shared = 2 * installed if isinstance(installed, int) else None
    own = record.measurement.memory
    for field, peak, most in (
        ("measurement.memory.vmhwm_bytes", own.vmhwm_bytes, 2 * limit),
        ("referee.vmhwm_bytes", seen, 2 * limit),
        (
            "measurement.memory.cgroup_peak_bytes",
            own.cgroup_peak_bytes,
            limit if record.launch.executor == "docker" else shared,
        ),
    ):
        if peak is not None and most is not None and peak > most:
            yield contradiction(
                f"the launch reached {peak} bytes of memory, and its limit is {limit}",
                *(field, "launch.limits.memory_bytes"),
            )


RULES: tuple[Rule, ...] = (
    requested,
    cpu_set,
    siblings,
    enforced,
    memory,
)
