"""Signal numbers and names, and the user's wish to stop as one kind of exception.

The first Ctrl-C (or SIGTERM, or a closed terminal) raises ``KeyboardInterrupt``: containers are removed, finished
records are kept. The second is answered with a line, because that removal is under way and must not be interrupted.
The third ends the process at once; what it leaves behind the next runner removes.
"""

import contextlib
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

_STOPPING = b"\nforge-bench: stopping: the running launch is being removed (once more: leave at once)\n"
_FORCE = 3
# For the kernel to take away what it was told to kill: a process in the middle of a write goes when that is done.
_END_SECONDS = 5.0


def signal_name(number: int) -> str:
    """SIGKILL for 9; the number where the system knows no name."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def stop_on_signals() -> None:
    """Make Ctrl-C, SIGTERM and a closed terminal end the run in order. What the caller ignores stays ignored."""
    for number in _stop_signals():
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _interrupt)


def keep_statuses_of_children() -> None:
    """Let this process learn how each of its children ended, also where its caller ignores SIGCHLD.

    The kernel forgets the status of a child of such a process, and Python then reports success.
    """
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)


@contextlib.contextmanager
def uninterrupted() -> Iterator[None]:
    """Hold a wish to stop back until the block is done: for steps that are short and must not be cut in two.

    The third wish is not held back. Signals reach the main thread alone, so elsewhere this does nothing.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    arrived: list[int] = []

    def note(number: int, frame: FrameType | None) -> None:
        arrived.append(number)
        if len(arrived) >= _FORCE:
            _interrupt(number, frame)

    before: dict[signal.Signals, Any] = {}
    try:
        for number in _stop_signals():
            handler = signal.getsignal(number)
            if callable(handler):
                before[number] = handler
                signal.signal(number, note)
        yield
    finally:
        for held, handler in before.items():
            signal.signal(held, handler)
        if 0 < len(arrived) < _FORCE:
            first = signal.Signals(arrived[0])
            before[first](first, None)


def die_with_parent() -> Callable[[], None]:
    """What a child is to call before its program starts (``preexec_fn``), so that SIGKILL of this process ends it too.

    A kernel without such a wish (macOS) lets the child live on to its own end.
    """
    if sys.platform != "linux":
        return lambda: None
    import ctypes  # noqa: PLC0415 (loaded before the fork: after it, nothing may be allocated)

    prctl = ctypes.CDLL(None).prctl
    parent = os.getpid()

    def ask() -> None:
        prctl(1, int(signal.SIGKILL))  # PR_SET_PDEATHSIG
        if os.getppid() != parent:
            os._exit(1)

    return ask


def end_group(process: "subprocess.Popen[bytes]", *, grace_seconds: float) -> None:
    """End a process that leads a group, and whatever is in it; its pipes are closed.

    Args:
        process: the leader, started in a session of its own.
        grace_seconds: how long the group may take to end by itself once asked (SIGTERM); 0 asks nobody.
    """
    if grace_seconds > 0 and process.poll() is None:
        _signal_group(process.pid, signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(timeout=grace_seconds)
    # The leader may be gone; what it left behind in its group goes too.
    _signal_group(process.pid, signal.SIGKILL)
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(timeout=_END_SECONDS)
    for stream in (process.stdout, process.stderr):
        if stream is not None:
            stream.close()


def _signal_group(group: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)


def _stop_signals() -> tuple[signal.Signals, ...]:
    return (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def _interrupt(number: int, frame: FrameType | None) -> None:
    del number, frame
    _handle_next_with(_say_stopping)
    raise KeyboardInterrupt


def _say_stopping(number: int, frame: FrameType | None) -> None:
    del number, frame
    _handle_next_with(signal.SIG_DFL)
    with contextlib.suppress(OSError):
        os.write(2, _STOPPING)


def _handle_next_with(handler: "Callable[[int, FrameType | None], None] | signal.Handlers") -> None:
    for number in _stop_signals():
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, handler)
