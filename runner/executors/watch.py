"""Reading a launch's two streams with a bound on each, whatever is printed."""

import codecs
from collections.abc import Callable

from runner.executors.base import KEPT_STDERR_BYTES, MOST_STDOUT_BYTES


class StdoutLines:
    """Cuts a byte stream into lines and hands each on; stops taking any after the allowed number of bytes."""

    def __init__(self, on_line: Callable[[str], None]) -> None:
        self._on_line = on_line
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        self._rest: list[str] = []
        self._taken = 0

    @property
    def overflowed(self) -> bool:
        """Whether more was printed than any measurement needs."""
        return self._taken > MOST_STDOUT_BYTES

    def feed(self, chunk: bytes) -> None:
        """Take some bytes."""
        self._taken += len(chunk)
        if self.overflowed:
            return
        *whole, rest = self._decoder.decode(chunk).split("\n")
        for line in whole:
            self._on_line("".join([*self._rest, line]))
            self._rest = []
        self._rest.append(rest)

    def close(self) -> None:
        """Hand on a last line that has no end."""
        rest = "".join(self._rest)
        if rest and not self.overflowed:
            self._on_line(rest)


class StderrTail:
    """Keeps the end of a byte stream."""

    def __init__(self) -> None:
        self._kept = bytearray()

    def feed(self, chunk: bytes) -> None:
        """Take some bytes."""
        self._kept += chunk
        if len(self._kept) > 2 * KEPT_STDERR_BYTES:
            del self._kept[:-KEPT_STDERR_BYTES]

    def text(self) -> str:
        """The last mebibyte, as text."""
        return bytes(self._kept[-KEPT_STDERR_BYTES:]).decode("utf-8", errors="replace")
