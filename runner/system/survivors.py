"""Processes that outlive their parent, in any session. The runner adopts them, and ends them with the parent."""

import contextlib
import os
import sys
import time
from collections.abc import Iterator

import psutil

from runner.system.orphans import OWNER_VARIABLE
from runner.system.owner import Owner
from runner.system.signals import uninterrupted

_SUBREAPER = 36  # PR_SET_CHILD_SUBREAPER
# A process that forks without end shows up anew in each scan; its limits have ended the launch long before.
_LONGEST_SECONDS = 10.0
_PAUSE_SECONDS = 0.01


@contextlib.contextmanager
def no_survivors() -> Iterator[None]:
    """End, after the block, every process that was started in it and is still there.

    The kernel hands an orphan to its nearest ancestor that asked for orphans (Linux). Elsewhere the runner's token in
    a process's environment tells.
    """
    before = frozenset(process.pid for process in psutil.Process().children())
    _adopt_orphans(wanted=True)
    try:
        yield
    finally:
        with uninterrupted():
            _end_all(before)
            _adopt_orphans(wanted=False)


def _end_all(before: frozenset[int]) -> None:
    end = time.monotonic() + _LONGEST_SECONDS
    while time.monotonic() < end:
        found = [process for process in _started_here(before) if not _reaped(process)]
        if not found:
            return
        for process in found:
            with contextlib.suppress(psutil.Error):
                process.kill()
        time.sleep(_PAUSE_SECONDS)


def _started_here(before: frozenset[int]) -> list[psutil.Process]:
    """The new children with their descendants, and the processes with this runner's token."""
    found: dict[int, psutil.Process] = {}
    for child in psutil.Process().children():
        if child.pid not in before:
            found[child.pid] = child
            with contextlib.suppress(psutil.Error):
                found |= {each.pid: each for each in child.children(recursive=True)}
    if sys.platform != "linux":
        token = str(Owner.current())
        for process in psutil.process_iter():
            with contextlib.suppress(psutil.Error, OSError):
                if process.environ().get(OWNER_VARIABLE) == token and process.pid != os.getpid():
                    found[process.pid] = process
    return list(found.values())


def _reaped(process: psutil.Process) -> bool:
    """Whether a process has ended. An ended child of this process is reaped."""
    try:
        pid, _ = os.waitpid(process.pid, os.WNOHANG)
    except ChildProcessError:
        return not process.is_running()
    return pid == process.pid


def _adopt_orphans(*, wanted: bool) -> None:
    if sys.platform == "linux":
        import ctypes  # noqa: PLC0415 (half a millisecond of a call that starts nothing)

        ctypes.CDLL(None).prctl(_SUBREAPER, int(wanted))
