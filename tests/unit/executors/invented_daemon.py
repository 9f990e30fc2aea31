"""A daemon behind a real socket whose containers only talk, and which counts round trips instead of making them last."""

import contextlib
import io
import itertools
import json
import socket
import socketserver
import struct
import sys
import tarfile
import threading
import time
from collections import Counter
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import docker
from runner.daemon.pooled import pool

# Requests that are made at the same time arrive within so many seconds, also on a busy machine.
_TOGETHER_SECONDS = 0.05
_PATIENCE_SECONDS = 30
_UPGRADED = b"HTTP/1.1 101 UPGRADED\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n"


class RoundTrips:
    """Time in round trips. It goes on when all who wait have waited together for a moment."""

    def __init__(self) -> None:
        self.now = 0
        self._waiting = 0
        self._stopped = False
        self._changed = time.monotonic()
        self._condition = threading.Condition()
        threading.Thread(target=self._go_on, daemon=True).start()

    def wait_until(self, when: int) -> None:
        """Wait for a moment."""
        with self._condition:
            self._waiting += 1
            self._changed = time.monotonic()
            assert self._condition.wait_for(lambda: self.now >= when, _PATIENCE_SECONDS)
            self._waiting -= 1
            self._changed = time.monotonic()

    def settle(self) -> int:
        """The time at which nobody waits any more."""
        until = time.monotonic() + _PATIENCE_SECONDS
        while True:
            with self._condition:
                if not self._waiting and time.monotonic() > self._changed + _TOGETHER_SECONDS:
                    return self.now
            assert time.monotonic() < until, "a request is not answered"
            time.sleep(_TOGETHER_SECONDS / 10)

    def stop(self) -> None:
        """Let time stand still for good."""
        self._stopped = True

    def _go_on(self) -> None:
        while not self._stopped:
            time.sleep(_TOGETHER_SECONDS / 10)
            with self._condition:
                if self._waiting and time.monotonic() > self._changed + _TOGETHER_SECONDS:
                    self.now += 1
                    self._changed = time.monotonic()
                    self._condition.notify_all()


class Container:
    """A container that says one line, and ends well when its stdin does. One without a stdin stays."""

    def __init__(self, asked: dict[str, Any], more_variables: list[str]) -> None:
        self.started = threading.Event()
        self.ended = threading.Event()
        mounts = asked["HostConfig"].get("Mounts") or ()
        self.told = {
            "Config": {"Env": [*(asked.get("Env") or ()), *more_variables]},
            "Mounts": [{"Destination": each["Target"], "Name": f"of{each['Target']}"} for each in mounts],
        }

    @property
    def state(self) -> dict[str, Any]:
        status = "exited" if self.ended.is_set() else "running"
        return {"Status": status, "ExitCode": 0, "OOMKilled": False, "Pid": 1}


class InventedDaemon(socketserver.ThreadingUnixStreamServer):
    """The daemon.

    Attributes:
        refuses: makes no container whose name begins so.
        adds: variables that each container gets which has some.
        starts_no: the program that it does not start in a container.
        asked: the requests so far, without identifiers.
        wanted: by its name, what each container was to be.
    """

    daemon_threads = True
    request_queue_size = 64

    def __init__(self, path: Path) -> None:
        self.time = RoundTrips()
        self.asked: list[str] = []
        self.wanted: dict[str, dict[str, Any]] = {}
        self.containers: dict[str, Container] = {}
        self.refuses: str | None = None
        self.adds: list[str] = []
        self.starts_no: str | None = None
        self.numbers = itertools.count(1)
        self.commands: dict[str, list[str]] = {}
        super().__init__(str(path), _Connection)
        threading.Thread(target=self.serve_forever, args=(0.05,), daemon=True).start()

    def get_request(self) -> tuple[socket.socket, str]:
        # The server of the standard library shows a client's address, which a socket in a file has none of.
        return super().get_request()[0], "somebody"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Print what went wrong, but for a client that has gone."""
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)

    def server_close(self) -> None:
        """Take no more requests."""
        super().server_close()
        self.time.stop()

    @property
    def requests(self) -> Counter[str]:
        """How often each was made."""
        return Counter(self.asked)

    @property
    def client(self) -> docker.DockerClient:
        """A client of it, whose connections are pooled as those of another machine are."""
        found = docker.DockerClient(base_url=f"unix://{self.server_address!s}", version="1.41", timeout=10)
        pool(found)
        return found

    def wanted_as(self, name: str) -> dict[str, Any]:
        """What the container was to be whose name begins so."""
        return next(asked for each, asked in self.wanted.items() if each.startswith(name))


class _Connection(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: InventedDaemon

    def setup(self) -> None:
        super().setup()
        # ssh has to lead it through first.
        self.open_at = self.server.time.now + 1

    def _serve(self) -> None:
        sent = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        address = urlsplit(self.path)
        _, _, kind, *rest = address.path.split("/")
        name, what = ([*rest, ""] if self.command == "DELETE" else ["", "", *rest])[-2:]
        self.server.asked.append(" ".join(filter(None, (self.command, kind, what))))
        if what != "wait":
            self.server.time.wait_until(max(self.open_at, self.server.time.now) + 1)
        answer = getattr(self, f"_{kind}_{what or 'it'}_{self.command.lower()}")
        answer(name, sent, {key: values[0] for key, values in parse_qs(address.query).items()})

    do_GET = do_POST = do_PUT = do_DELETE = _serve  # noqa: N815 (the names that http.server calls)

    def _answer(self, status: int, body: Any = None) -> None:
        self._send(status, b"" if body is None else json.dumps(body).encode(), "application/json")

    def _send(self, status: int, content: bytes, kind: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def _containers_create_post(self, _: str, sent: bytes, query: dict[str, str]) -> None:
        self.server.wanted[query["name"]] = json.loads(sent)
        refuses = self.server.refuses
        if refuses is not None and query["name"].startswith(refuses):
            self._answer(500, {"message": "no"})
            return
        identifier = f"{query['name']}-{next(self.server.numbers)}"
        wanted = self.server.wanted[query["name"]]
        self.server.containers[identifier] = Container(wanted, self.server.adds if wanted.get("Env") else [])
        self._answer(201, {"Id": identifier})

    def _containers_json_get(self, name: str, *_: Any) -> None:
        if not name:
            self._answer(200, [])
            return
        container = self.server.containers[name]
        self._answer(200, {"Id": name, **container.told, "State": container.state})

    def _containers_start_post(self, name: str, *_: Any) -> None:
        self.server.containers[name].started.set()
        self._answer(204)

    def _containers_attach_post(self, name: str, _: bytes, query: dict[str, str]) -> None:
        container = self.server.containers[name]
        self.close_connection = True
        self.request.sendall(_UPGRADED)
        if "stdin" in query:
            while self.request.recv(100):
                pass
            container.ended.set()
            return
        assert container.started.wait(_PATIENCE_SECONDS)
        with contextlib.suppress(OSError):
            self.request.sendall(_frame(b"ready\n"))
        assert container.ended.wait(_PATIENCE_SECONDS)

    def _containers_wait_post(self, name: str, *_: Any) -> None:
        assert self.server.containers[name].ended.wait(_PATIENCE_SECONDS)
        self._answer(200, {"StatusCode": 0})

    def _containers_archive_put(self, *_: Any) -> None:
        self._answer(200)

    def _containers_archive_get(self, *_: Any) -> None:
        buffer = io.BytesIO()
        with tarfile.open(fileobj=buffer, mode="w") as archive:
            entry = tarfile.TarInfo("outputs/x")
            entry.size = 1
            archive.addfile(entry, io.BytesIO(b"1"))
        self._send(200, buffer.getvalue(), "application/x-tar")

    def _containers_exec_post(self, _: str, sent: bytes, __: dict[str, str]) -> None:
        number = str(next(self.server.numbers))
        self.server.commands[number] = json.loads(sent)["Cmd"]
        self._answer(201, {"Id": number})

    def _exec_start_post(self, number: str, *_: Any) -> None:
        """The probe finds no file; any other program says nothing. Docker says in frames too what it cannot start."""
        program, *arguments = self.server.commands[number]
        self.close_connection = True
        self.request.sendall(_UPGRADED)
        if program == self.server.starts_no:
            self.request.sendall(_frame(b"OCI runtime exec failed: unable to start container process\r\n"))
        elif program == "/read":
            self.request.sendall(_frame(bytes(4 * len(arguments))))

    def _exec_json_get(self, number: str, *_: Any) -> None:
        program = self.server.commands[number][0]
        self._answer(200, {"Running": False, "ExitCode": 126 if program == self.server.starts_no else 0})

    def _images_json_get(self, *_: Any) -> None:
        self._answer(200, {"Id": "it", "Config": {"Env": None}})

    def _containers_it_delete(self, name: str, *_: Any) -> None:
        self.server.containers[name].started.set()
        self.server.containers[name].ended.set()
        self._answer(204)

    def _volumes_it_get(self, *_: Any) -> None:
        self._answer(200, {"Volumes": []})

    def log_message(self, *_: object) -> None:
        """Say nothing."""


def _frame(data: bytes) -> bytes:
    return struct.pack(">BxxxL", 1, len(data)) + data
