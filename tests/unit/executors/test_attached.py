"""A launch over a connection that breaks: what is lost of its output says nothing about the implementation."""

import threading
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
import requests
from docker.errors import APIError, NotFound

from executors.test_docker import REQUEST, executor_of, this_machine  # noqa: F401 (a fixture)
from runner.executors import attached, docker
from runner.executors.base import LaunchResult
from runner.records.failure import FailureKind
from runner.system.errors import DockerUnavailable, NoSpace

Chunk = tuple[bytes | None, bytes | None]


class Daemon:
    """One container: what it prints, how its stream ends, and what the two requests for its end answer."""

    def __init__(
        self,
        *,
        chunks: Sequence[Chunk] = (),
        stream: Exception | None = None,
        witness: Exception | None = None,
        dropped: bool = False,
        asked_again: Exception | None = None,
        attach: Exception | None = None,
        start: Exception | None = None,
        exit_code: int = 0,
    ) -> None:
        self.chunks = chunks
        self.stream = stream
        self.witness = witness
        self.dropped = dropped
        self.asked_again = asked_again
        self.refuses_attach = attach
        self.refuses_start = start
        self.attrs = {"State": {"ExitCode": exit_code, "Status": "exited", "OOMKilled": False}, "Mounts": []}
        self.removed = False

    def attach(self, **_: Any) -> Iterator[Chunk]:
        if self.refuses_attach is not None:
            raise self.refuses_attach
        return self._stream()

    def _stream(self) -> Iterator[Chunk]:
        yield from self.chunks
        if self.stream is not None:
            raise self.stream

    def start(self) -> None:
        if self.refuses_start is not None:
            raise self.refuses_start

    def wait(self, timeout: float | None) -> dict[str, int]:
        if timeout is None and self.dropped:
            threading.Event().wait(30)
        problem = self.witness if timeout is None else self.asked_again
        if problem is not None:
            raise problem
        return {"StatusCode": 0}

    def reload(self) -> None:
        pass

    def kill(self) -> None:
        pass

    def remove(self, **_: Any) -> None:
        self.removed = True


def launch(monkeypatch: pytest.MonkeyPatch, daemon: Daemon) -> LaunchResult:
    executor = executor_of(monkeypatch)
    monkeypatch.setattr(attached, "_BOTH_ENDS_SECONDS", 0.2)
    monkeypatch.setattr(docker, "create_container", lambda *_, **__: daemon)
    monkeypatch.setattr(docker, "require_environment", lambda *_: None)
    monkeypatch.setattr(docker, "attach", Daemon.attach)
    try:
        return executor.launch(REQUEST)
    finally:
        assert daemon.removed


def test_a_stream_that_ends_with_its_container_is_whole(monkeypatch):
    result = launch(monkeypatch, Daemon(chunks=[(b"{}\n", None), (None, b"a word")]))
    assert (result.exit_code, result.failure, result.stderr) == (0, None, "a word")


def test_an_idle_connection_that_was_dropped_silently_ends_nothing(monkeypatch):
    result = launch(monkeypatch, Daemon(chunks=[(b"{}\n", None)], dropped=True))
    assert (result.exit_code, result.failure) == (0, None)


@pytest.mark.parametrize("exit_code", [0, 1, 137])
@pytest.mark.parametrize(
    "faults",
    [
        {"witness": requests.ConnectionError("Connection aborted.")},
        {"dropped": True, "asked_again": requests.exceptions.ReadTimeout("Read timed out.")},
        {"chunks": [(b"{", None)], "stream": ConnectionResetError("reset by peer")},
    ],
    ids=["both requests cut", "the container runs on", "the stream breaks aloud"],
)
def test_a_cut_connection_ends_the_run_and_fails_no_cell(monkeypatch, faults, exit_code):
    with pytest.raises(DockerUnavailable, match="the connection to the Docker daemon broke"):
        launch(monkeypatch, Daemon(**faults, exit_code=exit_code))


def test_a_stream_that_hangs_after_the_end_is_not_whole():
    never = threading.Event()

    def hangs() -> Iterator[Chunk]:
        yield b"{", None
        never.wait(30)

    output = attached.Output(hangs(), docker.Streams(lambda *_: None), name="x")
    output.start()
    assert "did not end" in str(output.finish(0.2))
    never.set()


def test_what_a_reader_of_lines_raises_is_no_broken_connection():
    def defect(*_: object) -> None:
        raise OSError("the terminal is gone")

    output = attached.Output(iter([(b"a line\n", None)]), docker.Streams(defect), name="x")
    output.start()
    with pytest.raises(OSError, match="terminal"):
        output.finish(5)


def test_a_container_that_somebody_removed_is_a_lost_launch(monkeypatch):
    gone = NotFound("No such container")
    result = launch(monkeypatch, Daemon(witness=gone, asked_again=gone))
    assert result.failure is not None
    assert result.failure.kind is FailureKind.LOST


def test_a_full_disk_of_the_daemon_at_the_start_fails_no_cell(monkeypatch):
    with pytest.raises(NoSpace):
        launch(monkeypatch, Daemon(start=APIError("mkdir /var/lib/docker/x: no space left on device")))


def test_a_full_disk_of_the_daemon_at_the_end_fails_no_cell(monkeypatch):
    full = APIError("write /tmp/x: no space left on device")
    with pytest.raises(NoSpace):
        launch(monkeypatch, Daemon(witness=full, asked_again=full))


def test_a_daemon_out_of_open_files_fails_no_cell(monkeypatch):
    with pytest.raises(DockerUnavailable, match="could not serve a launch"):
        launch(monkeypatch, Daemon(start=APIError("open /dev/null: too many open files")))


def test_a_program_that_the_daemon_cannot_start_is_a_failed_cell(monkeypatch):
    result = launch(monkeypatch, Daemon(start=APIError('exec: "nothing": executable file not found')))
    assert result.failure is not None
    assert result.failure.kind is FailureKind.NOT_STARTED


def test_what_podman_refuses_when_its_streams_are_attached_is_a_failed_cell_with_its_own_words(monkeypatch):
    refused = APIError(
        "409 Client Error: " + "a long address/" * 30, explanation="runc: rlimit type 7: not permitted"
    )
    result = launch(monkeypatch, Daemon(attach=refused))
    assert result.failure is not None
    assert result.failure.kind is FailureKind.NOT_STARTED
    assert result.failure.detail == "runc: rlimit type 7: not permitted"
