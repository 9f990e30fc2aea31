"""A launch has its CPUs for itself: no launch of another runner on this machine uses them meanwhile."""

from collections.abc import Callable
from contextlib import AbstractContextManager

from runner.executors.base import Executor
from runner.matrix import Limits, Platform
from runner.system.cpu_locks import Use, hold


def alone(
    executor: Executor,
    limits: Limits,
    platform: Platform,
    *,
    what: str,
    seconds: float,
    say: Callable[[str], None],
) -> AbstractContextManager[None]:
    """Hold the CPUs of a launch under these limits, after waiting for their holders.

    Args:
        executor: what runs it.
        limits: of the launch.
        platform: where it runs.
        what: the launch, for other runners to show.
        seconds: its deadline.
        say: gets a line where it has to wait.

    Raises:
        CpusTaken: a holder did not end in time.
    """
    machine = str(executor.machine(platform).get("daemon") or "here")
    return hold(executor.cpus(limits, platform).cpus, Use(what=what, machine=machine, seconds=seconds), say)
