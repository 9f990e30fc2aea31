"""The three standard streams of this process, made so that writing to them never ends the work.

A reader of a pipe may leave, a terminal may vanish, and a disk behind ``>`` may fill, at any moment. Messages on stderr
are a comfort: the work goes on without them. Results on stdout are what was asked for: their loss is remembered, the
work goes on, and the exit code says so at the end.
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

# What a shell reports of a program that ended because nobody reads its output.
READER_LEFT = 128 + signal.SIGPIPE


class _Stream(io.FileIO):
    """A descriptor for writing that keeps its first failure, and from then on takes everything and writes nothing."""

    def __init__(self, descriptor: int) -> None:
        super().__init__(descriptor, "wb", closefd=False)
        self.failure: OSError | None = None

    def write(self, data: Any, /) -> int:
        """Take all of ``data``, whatever becomes of it."""
        left = memoryview(data).cast("B")
        size = len(left)
        while left and self.failure is None:
            try:
                written = super().write(left)
            except OSError as error:
                self.failure = error
                break
            if written is None:
                # Another program may have made a shared terminal or pipe one that does not wait.
                select.select([], [self], [])
            left = left[written or 0 :]
        return size


class StandardOutput:
    """What became of the results on stdout."""

    def __init__(self, stream: _Stream) -> None:
        self._stream = stream

    def exit_code(self, code: int, complain: Callable[[str], None]) -> int:
        """The exit code of a call that ended with ``code``, once all of its results are written or lost.

        Args:
            code: what the command itself ended with. A failure of its own says more than a lost result.
            complain: where the loss is told, unless the reader left, who is not there to be told.
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
            fix="free space where stdout leads, or lead it elsewhere, and call again: what was run is stored",
        )
        complain(f"forge-bench: {lost}")
        return code or lost.exit_code


def take_standard_streams() -> StandardOutput:
    """Replace ``sys.stdin``, ``sys.stdout`` and ``sys.stderr`` by streams that cannot fail.

    A descriptor that the caller closed leads to ``/dev/null``: otherwise the next file that is opened would get its
    number, and be written into by every message.
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
    """``stream`` with the encoding of ``before``; a character that it lacks is written as its number."""
    return io.TextIOWrapper(
        io.BufferedWriter(stream),
        encoding=before.encoding if before else "utf-8",
        errors="backslashreplace",
        line_buffering=line_buffering,
    )
