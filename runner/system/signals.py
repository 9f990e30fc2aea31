"""Signal numbers and names, and the user's interrupts as one kind of exception.

The first Ctrl-C (or SIGTERM, or a closed terminal) raises ``KeyboardInterrupt``: containers are removed, finished
records are kept. The second prints a line, because the removal must not be interrupted. The third ends the process at
once, and the next runner removes what is left.

Python swallows an exception that is raised inside a finaliser. An interrupt that was swallowed so is raised again a
moment later.
"""

import contextlib
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import FrameType
from typing import Any

_STOPPING = b"\nforge-bench: stopping: the running launch is being removed (once more: leave at once)\n"
_FORCE = 3
# The time in which the kernel ends a killed process, which may first have to finish a write.
_END_SECONDS = 5.0
# A finaliser is short. After this time it has ended, or the interrupt is swallowed again and raised once more.
_AGAIN_SECONDS = 0.02


def signal_name(number: int) -> str:
    """SIGKILL for 9; the number where the system knows no name."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def stop_on_signals() -> None:
    """Make Ctrl-C, SIGTERM and a closed terminal end the run in order.

    A signal that the caller ignores stays ignored.
    """
    for number in _stop_signals():
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _interrupt)
    signal.signal(signal.SIGALRM, _interrupt_again)
    if not isinstance(sys.unraisablehook, _RaiseSwallowedAgain):
        sys.unraisablehook = _RaiseSwallowedAgain(before=sys.unraisablehook)


def ignore_signals() -> None:
    """Ignore all further stop signals, so that this process runs to its own last line."""
    signal.setitimer(signal.ITIMER_REAL, 0)
    for number in (*_stop_signals(), signal.SIGALRM):
        signal.signal(number, signal.SIG_IGN)


def keep_statuses_of_children() -> None:
    """Let this process learn how each of its children ended, even where its caller ignores SIGCHLD.

    The kernel forgets the status of a child of such a process, and Python then reports success.
    """
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)


@contextlib.contextmanager
def uninterrupted() -> Iterator[None]:
    """Hold an interrupt back until the block is done.

    The block is short and must not be cut in two. The third interrupt is not held back. Python delivers signals to
    the main thread alone, so other threads hold nothing back.
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
        for number in (*_stop_signals(), signal.SIGALRM):
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
    """The function that a child calls before its program starts (``preexec_fn``).

    It makes SIGKILL of this process end the child too. A kernel without this feature (macOS) lets the child run to
    its own end.
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
    """End a process that leads a group, and all processes of the group. Its pipes are closed.

    Args:
        process: the leader, started in a session of its own.
        grace_seconds: how long the group may take to end by itself after SIGTERM; 0 sends no SIGTERM.
    """
    if grace_seconds > 0 and process.poll() is None:
        _signal_group(process.pid, signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(timeout=grace_seconds)
    # The leader may have ended already; the other processes of its group are ended too.
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


@dataclass(frozen=True, kw_only=True)
class _RaiseSwallowedAgain:
    """The hook for exceptions that no code can catch. An interrupt among them is raised again."""

    before: "Callable[[sys.UnraisableHookArgs], object]"

    def __call__(self, swallowed: "sys.UnraisableHookArgs") -> None:
        if issubclass(swallowed.exc_type, KeyboardInterrupt):
            signal.setitimer(signal.ITIMER_REAL, _AGAIN_SECONDS)
        else:
            self.before(swallowed)


def _interrupt_again(number: int, frame: FrameType | None) -> None:
    del number, frame
    raise KeyboardInterrupt


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
