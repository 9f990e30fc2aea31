"""The three standard streams of this process, made safe: a failed write never ends the work.

A reader of a pipe may leave, a terminal may vanish, and a disk behind ``>`` may fill, at any moment. The work goes on
without messages on stderr. The work also goes on without stdout, but the exit code reports that results were lost.
"""

import errno
import io
import os
import select
import signal
import sys
from collections.abc import Callable
from typing import Any, TextIO

from runner.system.errors import OutputLost

# The exit code that a shell reports for a program whose output has no reader.
READER_LEFT = 128 + signal.SIGPIPE


class _Stream(io.FileIO):
    """A descriptor for writing that keeps its first failure.

    After a failure it accepts all data and writes nothing.
    """

    def __init__(self, descriptor: int) -> None:
        super().__init__(descriptor, "wb", closefd=False)
        self.failure: OSError | None = None

    def write(self, data: Any, /) -> int:
        """Accept all of ``data``; write it unless a write has failed."""
        left = memoryview(data).cast("B")
        size = len(left)
        while left and self.failure is None:
            try:
                written = super().write(left)
            except OSError as error:
                self.failure = error
                break
            if written is None:
                # Another program may have made a shared terminal or pipe non-blocking.
                select.select([], [self], [])
            left = left[written or 0 :]
        return size


class StandardOutput:
    """Whether the results on stdout were written."""

    def __init__(self, stream: _Stream) -> None:
        self._stream = stream

    def exit_code(self, code: int, complain: Callable[[str], None]) -> int:
        """The exit code of a call that ended with ``code``, once all of its results are written or lost.

        Args:
            code: the command's own exit code. Its own failure says more than a lost result.
            complain: called with the message about the loss, unless the reader of the pipe left.
        """
        sys.stdout.flush()
        failure = self._stream.failure
        if failure is None:
            return code
        if failure.errno == errno.EPIPE:
            return code or READER_LEFT
        lost = OutputLost(
            what="the results could not be written to stdout",
            why=failure.strerror or str(failure),
            fix="free space on the disk of stdout, or redirect stdout, and run again: finished cells are stored",
        )
        complain(f"forge-bench: {lost}")
        return code or lost.exit_code


def take_standard_streams() -> StandardOutput:
    """Replace ``sys.stdin``, ``sys.stdout`` and ``sys.stderr`` by streams that cannot fail.

    A descriptor that the caller closed leads to ``/dev/null``. Otherwise the next opened file would get its number,
    and all messages would go into that file.
    """
    for descriptor in range(3):
        _open_closed(descriptor)
    if sys.stdin is None:
        sys.stdin = open(0, closefd=False, encoding="utf-8")  # noqa: SIM115 (as long as the process lives)
    stdout = _Stream(1)
    sys.stdout = _text(stdout, sys.stdout, line_buffering=stdout.isatty())
    sys.stderr = _text(_Stream(2), sys.stderr, line_buffering=True)
    return StandardOutput(stdout)


def _open_closed(descriptor: int) -> None:
    try:
        os.fstat(descriptor)
    except OSError:
        opened = os.open(os.devnull, os.O_RDWR)
        os.dup2(opened, descriptor)
        if opened != descriptor:
            os.close(opened)
        # Children of this process inherit its streams.
        os.set_inheritable(descriptor, True)


def _text(stream: _Stream, before: TextIO | None, *, line_buffering: bool) -> TextIO:
    """``stream`` with the encoding of ``before``. A character that the encoding lacks is written as its number."""
    return io.TextIOWrapper(
        io.BufferedWriter(stream),
        encoding=before.encoding if before else "utf-8",
        errors="backslashreplace",
        line_buffering=line_buffering,
    )
