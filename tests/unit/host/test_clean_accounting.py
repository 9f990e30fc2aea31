"""A daemon that does not come to an end with adding up its build cache: clean goes on without."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

import pytest

import docker
from runner.host.clean import daemon as cleaning

STEP = {"ID": "ours", "Description": "mount / from exec /bin/sh -c sh /forge/tools.sh", "Size": 5}


class Daemon(ThreadingHTTPServer):
    """What the accounting says: an answer a call, None for never."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.answers: list[list[dict] | None] = []
        self.asked: list[str] = []
        self.ended = threading.Event()

    @property
    def client(self) -> docker.DockerClient:
        return docker.DockerClient(base_url=f"tcp://127.0.0.1:{self.server_port}", version="1.41", timeout=30)


class Handler(BaseHTTPRequestHandler):
    server: Daemon

    def do_GET(self) -> None:
        self.server.asked.append(self.path)
        answer = self.server.answers.pop(0)
        if answer is None:
            self.server.ended.wait(60)
            return
        self._say({"BuildCache": answer})

    def do_POST(self) -> None:
        self.server.asked.append(self.path)
        self._say({"SpaceReclaimed": 5})

    def _say(self, value: dict) -> None:
        body = json.dumps(value).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def daemon(monkeypatch) -> Iterator[Daemon]:
    monkeypatch.setattr(cleaning, "_ACCOUNTING_SECONDS", 0.3)
    with Daemon() as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server
        server.ended.set()
        server.shutdown()
        thread.join()


def test_a_daemon_that_never_ends_adding_up_is_not_waited_for_and_the_rest_is_said(daemon):
    daemon.answers = [None]
    area = cleaning._find_cache(daemon.client, ("tools.sh",))
    assert area.items == ()
    (stays,) = area.stays
    assert "the daemon did not add up its sizes within" in stays
    assert "docker builder prune" in stays


def test_only_the_build_cache_is_asked_for(daemon):
    daemon.answers = [[STEP]]
    (item,) = cleaning._find_cache(daemon.client, ("tools.sh",)).items
    assert (item.count, item.size_bytes) == (1, 5)
    (asked,) = daemon.asked
    assert (urlsplit(asked).path, parse_qs(urlsplit(asked).query)) == (
        "/v1.41/system/df",
        {"type": ["build-cache"]},
    )


def test_what_was_known_before_goes_where_the_daemon_falls_silent_after(daemon):
    daemon.answers = [[STEP], None]
    (item,) = cleaning._find_cache(daemon.client, ("tools.sh",)).items
    problem = item.remove()
    assert problem is not None
    assert "within" in problem
    pruned = [each for each in daemon.asked if "/build/prune" in each]
    assert len(pruned) == 1
    assert "ours" in parse_qs(urlsplit(pruned[0]).query)["filters"][0]
