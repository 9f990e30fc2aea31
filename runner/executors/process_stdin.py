"""The referee's line to a process of this machine."""

import contextlib
import subprocess
import time
from collections.abc import Iterable

from runner.executors.channel import Seen
from runner.executors.outside import peak_of_session, seen_of_session


class ProcessStdin:
    """The stdin of a process that leads a session of its own."""

    def __init__(self, process: "subprocess.Popen[bytes]", cpus: Iterable[int]) -> None:
        self._process = process
        self._cpus = tuple(cpus)

    def send(self, line: str) -> float:
        """Write a line; the time just before. A process that is gone gets nothing."""
        data, pipe = f"{line}\n".encode(), self._process.stdin
        at = time.monotonic()
        if pipe is not None and not pipe.closed:
            with contextlib.suppress(OSError):
                pipe.write(data)
                pipe.flush()
        return at

    def close(self) -> None:
        """End its stdin."""
        if self._process.stdin is not None:
            with contextlib.suppress(OSError):
                self._process.stdin.close()

    def look(self) -> Seen:
        """What its session used."""
        return seen_of_session(self._process.pid, self._cpus)

    def peak_bytes(self) -> int | None:
        """The peaks of its session's processes."""
        return peak_of_session(self._process.pid)
