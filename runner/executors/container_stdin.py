"""The referee's line to a container: a connection that carries its stdin alone.

The container's output has a connection of its own, so that this one can be closed: the daemon then closes the
container's stdin, over a local socket, TLS and SSH alike. A half of a TLS connection cannot be closed.
"""

import contextlib
import time
from typing import Any

from docker.models.containers import Container

from runner.daemon.connection import BROKEN_CONNECTION
from runner.executors.channel import Seen
from runner.executors.container_seen import Outside

_GONE: tuple[type[Exception], ...] = (*BROKEN_CONNECTION, OSError, ValueError)


class ContainerStdin:
    """An attached stdin. Made before the container starts, so that the first line cannot be early."""

    def __init__(self, container: Container, outside: Outside) -> None:
        self._outside = outside
        self._seen: Seen | None = None
        attached: Any = container.attach_socket(params={"stdin": 1, "stream": 1})
        # The answer is kept as long as its socket; over SSH only its connection can be written to.
        self._answer = attached
        self._socket: Any = attached._response.raw._connection.sock

    def started(self) -> None:
        """The container runs: it can be looked at."""
        self._outside.started()

    def send(self, line: str) -> float:
        """Write a line; the time just before. Where nobody is there any more, the end of its output says so."""
        data = f"{line}\n".encode()
        self._seen = None
        at = time.monotonic()
        with contextlib.suppress(*_GONE):
            self._socket.sendall(data)
        return at

    def close(self) -> None:
        """End the container's stdin."""
        with contextlib.suppress(*_GONE):
            self._socket.close()
        with contextlib.suppress(*_GONE):
            self._answer.close()

    def look(self) -> Seen:
        """What it used. On another machine a launch that was told nothing since the last look counts as idle."""
        if self._seen is None or not self._outside.is_far:
            self._seen = self._outside.look()
        return self._seen

    def peak_bytes(self) -> int | None:
        """The peaks of its processes."""
        return self._outside.peak_bytes()
