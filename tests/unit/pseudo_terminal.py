"""A real terminal for a program: a pseudo-terminal of so many columns, and all that came out of it."""

import fcntl
import os
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).parents[2]
PATIENCE_SECONDS = 60


def _take_terminal() -> None:
    """Make stdin the controlling terminal, and hear its end: the caller of the tests may ignore that (nohup)."""
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


class Terminal:
    """A program whose stdin, stdout and stderr are one terminal; its output is read as it comes."""

    def __init__(
        self,
        command: Sequence[str],
        *,
        columns: int,
        environment: dict[str, str] | None = None,
        controlling: bool = False,
    ):
        self._ours, theirs = os.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        # Whoever runs the tests may have said how wide his own terminal is, and whether it has colours.
        cleared = {
            key: value for key, value in os.environ.items() if key not in ("COLUMNS", "LINES", "NO_COLOR")
        }
        self.process = subprocess.Popen(
            command,
            cwd=ROOT,
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            start_new_session=True,
            # Only a controlling terminal tells the program that it hangs up.
            preexec_fn=_take_terminal if controlling else None,  # noqa: PLW1509 (no thread runs here)
            env={**cleared, "TERM": "xterm", **(environment or {})},
        )
        os.close(theirs)
        self.shown = ""

    def type(self, text: str) -> None:
        os.write(self._ours, text.encode())

    def read_until(self, needle: str) -> None:
        """Wait until ``needle`` was shown since the last call, whatever steered the terminal meanwhile.

        Raises:
            TimeoutError: it was not, with what was shown instead.
        """
        start, deadline = len(self.shown), time.monotonic() + PATIENCE_SECONDS
        while needle not in re.sub(r"\033\[[\d;?]*[A-Za-z]", "", self.shown[start:]):
            if time.monotonic() > deadline or not self._read(deadline):
                raise TimeoutError(f"{needle!r} was not shown: {self.shown[start:]!r}")

    def wait(self) -> int:
        """Read to the program's end; its exit code."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while self._read(deadline):
            pass
        return self.process.wait(timeout=PATIENCE_SECONDS)

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        os.close(self._ours)

    def hang_up(self) -> None:
        """The terminal vanishes while the program goes on."""
        os.close(self._ours)

    def _read(self, deadline: float) -> bool:
        ready, _, _ = select.select([self._ours], [], [], max(0.0, deadline - time.monotonic()))
        try:
            chunk = os.read(self._ours, 2**16) if ready else b""
        except OSError:
            # The last one who had it open has gone.
            chunk = b""
        self.shown += chunk.decode("utf-8", "replace")
        return bool(chunk)


def forge_bench(*arguments: str, columns: int, environment: dict[str, str] | None = None) -> tuple[int, str]:
    """``forge-bench`` on a terminal: its exit code, and everything that it showed."""
    terminal = Terminal(
        [sys.executable, "-m", "runner", *arguments], columns=columns, environment=environment
    )
    try:
        return terminal.wait(), terminal.shown
    finally:
        terminal.close()
