"""Read a launch's two streams, with a bound on each."""

import codecs
import time
from collections.abc import Callable

from runner.records.failure import Failure, FailureKind

# A larger output is no measurement on stdout, and no log on stderr.
MOST_STDOUT_BYTES = 64 * 2**20
MOST_STDERR_BYTES = 256 * 2**20
KEPT_STDERR_BYTES = 2**20


class Streams:
    """Both streams of one launch."""

    def __init__(self, on_line: Callable[[str, float], None]) -> None:
        self.stdout = StdoutLines(on_line)
        self.stderr = StderrTail()

    def feed(self, stdout: bytes | None, stderr: bytes | None) -> None:
        """Take some bytes of one stream."""
        if stdout:
            self.stdout.feed(stdout)
        if stderr:
            self.stderr.feed(stderr)

    def close(self, *, whole: bool) -> None:
        """Hand on nothing afterwards. ``whole`` says that the streams ended and no thread feeds them any more."""
        self.stdout.close(whole=whole)

    @property
    def failure(self) -> Failure | None:
        """Too much output, or None."""
        for name, overflowed, most in (
            ("stdout", self.stdout.overflowed, MOST_STDOUT_BYTES),
            ("stderr", self.stderr.overflowed, MOST_STDERR_BYTES),
        ):
            if overflowed:
                detail = f"printed more than {most // 2**20} MiB on {name}; killed"
                return Failure(kind=FailureKind.TOO_MUCH_OUTPUT, detail=detail)
        return None


class StdoutLines:
    """Cuts a byte stream into lines, and hands each on with the time at which its end was read (time.monotonic).

    It ignores all bytes after the allowed number.
    """

    def __init__(self, on_line: Callable[[str, float], None]) -> None:
        self._on_line = on_line
        # Bytes that are not UTF-8 become U+FFFD, which the protocol refuses.
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        self._rest: list[str] = []
        self._taken = 0
        self._closed = False

    @property
    def overflowed(self) -> bool:
        """Whether more was printed than any measurement needs."""
        return self._taken > MOST_STDOUT_BYTES

    def feed(self, chunk: bytes) -> None:
        """Take some bytes."""
        at = time.monotonic()
        self._taken += len(chunk)
        if self.overflowed or self._closed:
            self._rest = []
            return
        *whole, rest = self._decoder.decode(chunk).split("\n")
        for line in whole:
            if self._closed:
                return
            self._on_line("".join([*self._rest, line]), at)
            self._rest = []
        self._rest.append(rest)

    def close(self, *, whole: bool) -> None:
        """Hand on no more, even if a thread still feeds.

        A ``whole`` stream first hands on a last line without an end.
        """
        if whole and not self.overflowed and not self._closed:
            rest = "".join([*self._rest, self._decoder.decode(b"", final=True)])
            if rest:
                self._on_line(rest, time.monotonic())
        self._closed = True


class StderrTail:
    """Keeps the end of a byte stream."""

    def __init__(self) -> None:
        self._kept = bytearray()
        self._taken = 0

    @property
    def overflowed(self) -> bool:
        """Whether more was printed than any log needs."""
        return self._taken > MOST_STDERR_BYTES

    def feed(self, chunk: bytes) -> None:
        """Take some bytes."""
        self._taken += len(chunk)
        self._kept += chunk
        if len(self._kept) > 2 * KEPT_STDERR_BYTES:
            del self._kept[:-KEPT_STDERR_BYTES]

    def text(self) -> str:
        """The last mebibyte, as text. A first line says how many bytes are missing before it."""
        kept = bytes(self._kept[-KEPT_STDERR_BYTES:])
        lost = self._taken - len(kept)
        text = kept.decode("utf-8", errors="replace")
        return f"[the first {lost} bytes were not kept]\n{text}" if lost else text
