"""What a command in a container printed, from an answer that arrives in any pieces."""

import http.server
import struct
import threading
from collections.abc import Iterator
from typing import Any

import pytest
import requests
from hypothesis import given
from hypothesis import strategies as st

import docker
from runner.executors.container_command import run_in, separated

FRAMES = st.lists(st.tuples(st.sampled_from([1, 2]), st.binary(max_size=40)), max_size=6)


def framed(frames: list[tuple[int, bytes]]) -> bytes:
    """The frames as a daemon sends them."""
    return b"".join(struct.pack(">BxxxL", stream, len(data)) + data for stream, data in frames)


@given(FRAMES)
def test_each_stream_is_put_together_in_its_order(frames: list[tuple[int, bytes]]) -> None:
    expected = tuple(b"".join(data for stream, data in frames if stream == each) for each in (1, 2))
    assert separated(framed(frames)) == expected


@given(FRAMES.filter(bool), st.data())
def test_an_answer_that_is_cut_within_a_frame_is_an_error(
    frames: list[tuple[int, bytes]], data: st.DataObject
) -> None:
    whole = framed(frames)
    whole_frames = {len(framed(frames[:count])) for count in range(len(frames) + 1)}
    length = data.draw(st.integers(0, len(whole)).filter(lambda each: each not in whole_frames))
    with pytest.raises(requests.ConnectionError, match="before its end"):
        separated(whole[:length])


class _Daemon(http.server.BaseHTTPRequestHandler):
    """A daemon that runs every command at once, and sends its answer's head and body in one packet."""

    protocol_version = "HTTP/1.1"
    refuses = False

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if self.path.endswith("/start") and not self.refuses:
            head = b"HTTP/1.1 101 UPGRADED\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n"
            self.request.sendall(head + framed([(1, b"all of"), (2, b"a warning"), (1, b" it")]))
            self.close_connection = True
        elif self.path.endswith("/start"):
            self._answer(409, b'{"message": "the container is not running"}')
        else:
            self._answer(201, b'{"Id": "number"}')

    def _answer(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """A test says what failed."""


@pytest.fixture
def daemon() -> Iterator[type[_Daemon]]:
    class Daemon(_Daemon):
        address = ""

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Daemon) as server:
        Daemon.address = f"tcp://127.0.0.1:{server.server_address[1]}"
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield Daemon
        server.shutdown()
        thread.join()


def test_what_arrives_together_with_the_head_is_not_lost(daemon: Any) -> None:
    api = docker.APIClient(base_url=daemon.address, version="1.41", timeout=10)
    printed = run_in(api, "container", ["/read"])
    assert (printed.identifier, printed.stdout, printed.stderr) == ("number", b"all of it", b"a warning")


def test_a_daemon_that_refuses_says_why(daemon: Any) -> None:
    daemon.refuses = True
    api = docker.APIClient(base_url=daemon.address, version="1.41", timeout=10)
    with pytest.raises(docker.errors.APIError, match="is not running"):
        run_in(api, "container", ["/read"])
