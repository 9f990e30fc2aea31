"""One pool of connections for all requests to a daemon behind a socket.

The SDK keeps a pool for each path of a request, and nearly every path holds the identifier of a new container. So it
would open a connection for nearly every request, and over SSH each of these costs a round trip.
"""

from typing import Any

from docker.transport import UnixHTTPAdapter

import docker


class _OnePool(UnixHTTPAdapter):
    def get_connection(self, url: str | bytes, proxies: Any = None) -> Any:
        """The pool of all paths."""
        del url
        return super().get_connection("http+docker://localhost", proxies)


def pool(client: docker.DockerClient) -> None:
    """Let a client use its connections again. A client that has no socket does so already."""
    adapter = client.api.get_adapter(client.api.base_url)
    if type(adapter) is UnixHTTPAdapter:
        ours = _OnePool(
            f"http+unix://{adapter.socket_path}", adapter.timeout, max_pool_size=adapter.max_pool_size
        )
        client.api.mount("http+docker://", ours)
        adapter.close()
