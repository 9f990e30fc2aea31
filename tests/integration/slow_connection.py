"""A connection that hands every byte on later, as a far machine's does, and never fewer at a time."""

import contextlib
import queue
import socket
import threading
import time
from collections.abc import Iterator

_CHUNK = 2**16


@contextlib.contextmanager
def slow_connection(port: int, seconds: float) -> Iterator[int]:
    """A port of this machine that leads to ``port``; a round trip takes ``seconds`` longer through it."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=_accept, args=(listener, port, seconds / 2), daemon=True).start()
        yield int(listener.getsockname()[1])


def _accept(listener: socket.socket, port: int, delay: float) -> None:
    with contextlib.suppress(OSError):
        while True:
            near, _ = listener.accept()
            far = socket.create_connection(("127.0.0.1", port))
            for each in (near, far):
                each.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            _hand_on(near, far, delay)
            _hand_on(far, near, delay)


def _hand_on(source: socket.socket, target: socket.socket, delay: float) -> None:
    """Bytes of ``source`` to ``target``, each ``delay`` seconds after it came."""
    waiting: queue.SimpleQueue[tuple[float, bytes]] = queue.SimpleQueue()

    def read() -> None:
        chunk = b"-"
        while chunk:
            try:
                chunk = source.recv(_CHUNK)
            except OSError:
                chunk = b""
            waiting.put((time.monotonic() + delay, chunk))

    def write() -> None:
        with contextlib.suppress(OSError):
            while True:
                due, chunk = waiting.get()
                time.sleep(max(0.0, due - time.monotonic()))
                if not chunk:
                    break
                target.sendall(chunk)
            target.shutdown(socket.SHUT_WR)

    for each in (read, write):
        threading.Thread(target=each, daemon=True).start()
