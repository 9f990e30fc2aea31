"""A client opens one connection for requests that follow one another, whatever their paths."""

import socket
import socketserver
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest

import docker
from runner.daemon.pooled import pool


class _Daemon(socketserver.ThreadingUnixStreamServer):
    """A daemon that knows one answer, and counts the connections that it was asked over."""

    daemon_threads = True

    def __init__(self, path: Path) -> None:
        self.connections = 0
        super().__init__(str(path), _Answer)

    def get_request(self) -> tuple[socket.socket, str]:
        self.connections += 1
        # The server of the standard library shows a client's address, which a socket in a file has none of.
        return super().get_request()[0], "somebody"


class _Answer(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        body = b'{"Id": "it"}'
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def daemon(tmp_path: Path) -> Iterator[_Daemon]:
    with _Daemon(tmp_path / "docker.sock") as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield server
        server.shutdown()


def test_requests_of_different_paths_share_one_connection(daemon: _Daemon) -> None:
    client = docker.DockerClient(base_url=f"unix://{daemon.server_address}", version="1.41")
    pool(client)
    assert [client.api.inspect_container(name)["Id"] for name in ("one", "two", "three")] == ["it"] * 3
    assert daemon.connections == 1
    client.close()


def test_a_client_without_a_socket_stays_as_it_is() -> None:
    client = docker.DockerClient(base_url="tcp://127.0.0.1:1", version="1.41")
    before = dict(client.api.adapters)
    pool(client)
    assert dict(client.api.adapters) == before
