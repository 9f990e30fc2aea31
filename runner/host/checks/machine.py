"""Whether the machine is large enough for a launch, and idle enough for meaningful times."""

from collections.abc import Iterator

from runner.host.finding import Finding, State, skipped
from runner.host.state import HostState
from runner.system.root import SUDO

_GIB = 2**30
# Above this share of busy processors, other work probably affects the figures.
_BUSY = 0.25


def memory(host_state: HostState) -> Iterator[Finding]:
    """Whether the machine has the memory that the matrix allows a launch."""
    here, limit = host_state.machine, host_state.wanted.memory_bytes
    total = here.memory_bytes
    if host_state.daemon is not None:
        total = int(host_state.daemon.information.get("MemTotal") or total)
    found = f"{total / _GIB:.1f} GiB, {here.memory_available_bytes / _GIB:.1f} GiB of them available"
    if min(total, here.memory_available_bytes) >= limit:
        yield Finding(check="memory", state=State.OK, found=f"{found}; a launch may use {limit / _GIB:.1f}")
        return
    yield Finding(
        check="memory",
        state=State.WARNING,
        found=found,
        why=f"the matrix allows a launch {limit / _GIB:.1f} GiB: one that uses them pushes out other work or is killed",
        advice="end other work, or lower limits.*.memory in the matrix",
    )


def processors(host_state: HostState) -> Iterator[Finding]:
    """Whether the machine has the processors that the matrix gives a launch."""
    here, wanted = host_state.machine.cpus, host_state.wanted.cpus
    if host_state.daemon is not None:
        theirs = int(host_state.daemon.information.get("NCPU") or here)
        # The CPU set of this process counts only for a daemon on this kernel.
        here = theirs if host_state.daemon.on_another_kernel else min(theirs, here)
    if here < wanted:
        yield Finding(
            check="processors",
            state=State.WARNING,
            found=f"{here}",
            why=f"some limits of the matrix ask for {wanted}: cells under them are left out",
            advice="lower limits.*.cpus in the matrix, or run them on a larger machine",
        )
        return
    if here > wanted:
        yield Finding(check="processors", state=State.OK, found=f"{here}; a launch gets {wanted}")
        return
    yield Finding(
        check="processors",
        state=State.WARNING,
        found=f"{here}",
        why=f"a launch gets {wanted}, and no processor is left for other work: times will spread",
    )


def load(host_state: HostState) -> Iterator[Finding]:
    """Whether the machine is busy with other work."""
    here = host_state.machine
    found = f"{here.load_1m:.2f} on {here.cpus} processors"
    if here.load_1m <= _BUSY * here.cpus:
        yield Finding(check="load", state=State.OK, found=found)
    else:
        yield Finding(
            check="load",
            state=State.WARNING,
            found=found,
            why="other work is running: times taken now are too long and spread",
            advice="wait until it is idle before a run that is to be published",
        )


def governor(host_state: HostState) -> Iterator[Finding]:
    """Whether the processor keeps a fixed frequency."""
    found = host_state.machine.governor
    if found is None:
        yield skipped("governor", "this machine shows none (a virtual machine, usually)")
    elif found == "performance":
        yield Finding(check="governor", state=State.OK, found=found)
    else:
        yield Finding(
            check="governor",
            state=State.WARNING,
            found=found,
            why="the frequency follows the load: short measurements come out slower and spread",
            commands=(f"echo performance | {SUDO}tee /sys/devices/system/cpu/cpu*/cpufreq/scaling_governor",),
        )


def implementations(host_state: HostState) -> Iterator[Finding]:
    """The implementations that the local executor cannot run here."""
    if host_state.executor != "local":
        return
    if not host_state.left_out:
        yield Finding(check="implementations", state=State.OK, found="all can run here")
        return
    yield Finding(
        check="implementations",
        state=State.WARNING,
        found=f"{len(host_state.left_out)} cannot run here",
        why="; ".join(f"{name}: {why}" for name, why in host_state.left_out.items()),
        advice="the images have all of them: run without --executor local where there is Docker",
    )
