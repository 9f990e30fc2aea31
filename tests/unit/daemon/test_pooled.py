"""A client asks over one connection what it asks in turn, whatever the paths, and has others open already."""

import socket
import socketserver
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest

import docker
from runner.daemon import pooled
from runner.daemon.pooled import pool

_PATIENCE_SECONDS = 10


class _Daemon(socketserver.ThreadingUnixStreamServer):
    """A daemon that knows one answer, and the numbers of the connections that it was asked over."""

    daemon_threads = True

    def __init__(self, path: Path) -> None:
        self.opened = 0
        self.asked_over: list[int] = []
        # It closes a connection over which nothing was asked for so long.
        self.idle_seconds: float | None = None
        super().__init__(str(path), _Answer)

    def get_request(self) -> tuple[socket.socket, str]:
        self.opened += 1
        # The server of the standard library shows a client's address, which a socket in a file has none of.
        return super().get_request()[0], str(self.opened)

    def wait_for(self, connections: int) -> None:
        """Wait until so many connections were opened."""
        until = time.monotonic() + _PATIENCE_SECONDS
        while self.opened < connections:
            assert time.monotonic() < until, self.opened
            time.sleep(0.01)


class _Answer(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Daemon

    def setup(self) -> None:
        self.timeout = self.server.idle_seconds
        super().setup()

    def do_GET(self) -> None:
        self.server.asked_over.append(int(str(self.client_address)))
        body = b'{"Id": "it"}'
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self) -> None:
        """Become a stream, until the client closes it."""
        self.server.asked_over.append(int(str(self.client_address)))
        self.close_connection = True
        self.request.sendall(b"HTTP/1.1 101 UPGRADED\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n")
        self.request.recv(1)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def daemon(tmp_path: Path) -> Iterator[_Daemon]:
    with _Daemon(tmp_path / "docker.sock") as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
        thread.start()
        yield server
        server.shutdown()


@pytest.fixture
def client(daemon: _Daemon) -> Iterator[docker.DockerClient]:
    client = docker.DockerClient(base_url=f"unix://{daemon.server_address!s}", version="1.41")
    pool(client)
    yield client
    client.close()


def test_requests_of_different_paths_share_one_connection(daemon, client) -> None:
    assert [client.api.inspect_container(name)["Id"] for name in ("one", "two", "three")] == ["it"] * 3
    assert len({*daemon.asked_over}) == 1


def test_a_connection_that_became_a_stream_is_replaced_by_one_that_was_open_already(daemon, client) -> None:
    streams = []
    for count in (1, 2, 3):
        streams.append(client.api.attach_socket("one"))
        daemon.wait_for(count + pooled._SPARE)
        client.api.inspect_container("one")
        assert daemon.asked_over[-1] <= count + pooled._SPARE - 1
    assert len(streams) == 3


def test_a_connection_that_was_opened_long_ago_is_replaced(daemon, client, monkeypatch) -> None:
    monkeypatch.setattr(pooled, "_FRESH_SECONDS", 0.0)
    stream = client.api.attach_socket("one")
    daemon.wait_for(1 + pooled._SPARE)
    client.api.inspect_container("one")
    assert daemon.asked_over[-1] > 1 + pooled._SPARE
    assert stream is not None


def test_connections_that_the_daemon_closed_meanwhile_are_not_used(daemon, client) -> None:
    daemon.idle_seconds = 0.1
    for _ in range(3):
        assert client.api.inspect_container("one")["Id"] == "it"
        time.sleep(0.3)


def test_a_client_without_a_socket_stays_as_it_is() -> None:
    client = docker.DockerClient(base_url="tcp://127.0.0.1:1", version="1.41")
    before = dict(client.api.adapters)
    pool(client)
    assert dict(client.api.adapters) == before
