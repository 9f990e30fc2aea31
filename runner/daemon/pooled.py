"""One pool of connections for all requests to a daemon behind a socket, some of which are opened ahead.

The SDK keeps a pool for each path of a request, and nearly every path holds the identifier of a new container. So it
would open a connection for nearly every request, and over SSH each of these costs a round trip. A connection that
carries a stream carries no further request, so even one pool needs new connections. They are opened before they are
needed: ssh accepts a connection at once, and leads it through to the other machine meanwhile.
"""

import contextlib
import threading
import time
from typing import Any

from docker.transport import UnixHTTPAdapter
from docker.transport.unixconn import UnixHTTPConnectionPool
from urllib3.util.connection import is_connection_dropped

import docker

_ONE = "http+docker://localhost"
# As many as a launch asks for at one moment.
_SPARE = 4
# A daemon closes a connection over which nothing was asked for five minutes.
_FRESH_SECONDS = 60.0


class _Ahead(UnixHTTPConnectionPool):
    """A pool that has spare connections."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._lock = threading.Lock()
        # The time at which each was opened, and the connection.
        self._spare: list[tuple[float, Any]] = []

    def _get_conn(self, timeout: float | None = None) -> Any:
        taken: Any = super()._get_conn(timeout)
        if taken.sock is not None:
            return taken
        with self._lock:
            self._drop_unusable()
            if self._spare:
                _, taken = self._spare.pop(0)
            # Where no connection can be opened, the request over the taken one will say so.
            with contextlib.suppress(OSError):
                while len(self._spare) < _SPARE:
                    spare: Any = self._new_conn()
                    spare.connect()
                    self._spare.append((time.monotonic(), spare))
        return taken

    def close(self) -> None:
        """Close the spare ones too."""
        with self._lock:
            for _, spare in self._spare:
                spare.close()
            self._spare = []
        super().close()

    def _drop_unusable(self) -> None:
        oldest, found = time.monotonic() - _FRESH_SECONDS, self._spare
        self._spare = [each for each in found if each[0] > oldest and not is_connection_dropped(each[1])]
        for each in found:
            if each not in self._spare:
                each[1].close()


class _OnePool(UnixHTTPAdapter):
    def __init__(self, socket_url: str, timeout: int, *, max_pool_size: int) -> None:
        super().__init__(socket_url, timeout, max_pool_size=max_pool_size)
        self.pools[_ONE] = _Ahead(_ONE, self.socket_path, timeout, maxsize=max_pool_size)

    def get_connection(self, url: str | bytes, proxies: Any = None) -> Any:
        """The pool of all paths."""
        del url
        return super().get_connection(_ONE, proxies)


def pool(client: docker.DockerClient) -> None:
    """Let a client use its connections again. A client that has no socket does so already."""
    adapter = client.api.get_adapter(client.api.base_url)
    if type(adapter) is UnixHTTPAdapter:
        ours = _OnePool(
            f"http+unix://{adapter.socket_path}", adapter.timeout, max_pool_size=adapter.max_pool_size
        )
        client.api.mount("http+docker://", ours)
        adapter.close()
