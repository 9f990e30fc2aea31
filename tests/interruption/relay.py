"""A relay between a runner and the daemon's socket, which can be cut."""

import contextlib
import socket
import threading
from pathlib import Path


class Relay:
    """Listens at ``path`` and hands every byte on to ``upstream``, until it is cut."""

    def __init__(self, path: Path, upstream: Path) -> None:
        self.path = path
        self._upstream = upstream
        self._lock = threading.Lock()
        self._pairs: set[tuple[socket.socket, socket.socket]] = set()
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(path))
        self._listener.listen(16)
        threading.Thread(target=self._accept, daemon=True).start()

    def cut(self, *, for_good: bool) -> int:
        """Break every connection; with ``for_good`` there will be no new one. Returns how many were broken."""
        with self._lock:
            if for_good:
                self._close_listener()
            pairs = list(self._pairs)
            for pair in pairs:
                for end in pair:
                    with contextlib.suppress(OSError):
                        end.shutdown(socket.SHUT_RDWR)
        return len(pairs)

    def close(self) -> None:
        """The end of it."""
        self.cut(for_good=True)

    def _close_listener(self) -> None:
        self.path.unlink(missing_ok=True)
        with contextlib.suppress(OSError):
            # Wakes the thread that waits in accept; closing alone would not.
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _accept(self) -> None:
        while True:
            try:
                near, _ = self._listener.accept()
            except OSError:
                return
            far = socket.socket(socket.AF_UNIX)
            try:
                far.connect(str(self._upstream))
            except OSError:
                near.close()
                continue
            with self._lock:
                self._pairs.add((near, far))
            threading.Thread(target=self._serve, args=(near, far), daemon=True).start()

    def _serve(self, near: socket.socket, far: socket.socket) -> None:
        """Both directions; one may end before the other, as an attached stream's does."""
        back = threading.Thread(target=_hand_on, args=(far, near), daemon=True)
        back.start()
        _hand_on(near, far)
        back.join()
        with self._lock:
            self._pairs.discard((near, far))
        near.close()
        far.close()


def _hand_on(source: socket.socket, target: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while block := source.recv(2**16):
            target.sendall(block)
    with contextlib.suppress(OSError):
        target.shutdown(socket.SHUT_WR)
