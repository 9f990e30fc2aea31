"""The output of a container, and the proof that all of it arrived.

An attached stream has no mark of its end, so a broken connection looks like an ended container. A second request
therefore waits for the container's end. It fails with the connection, and its answer holds the time of the end.
"""

import threading
from collections.abc import Iterator
from typing import Any

from docker.errors import APIError
from docker.models.containers import Container
from docker.utils.socket import demux_adaptor, frames_iter_no_tty

from runner.daemon.connection import BROKEN_CONNECTION
from runner.executors.watch import Streams
from runner.system.errors import DockerUnavailable

_READING_BROKE: tuple[type[Exception], ...] = (*BROKEN_CONNECTION, OSError, ValueError)
# A container's init holds its streams, so both end together. A busy daemon reports the end some time later.
_BOTH_ENDS_SECONDS = 10.0

# Some bytes of the output or of the errors; None for the other stream.
Chunk = tuple[bytes | None, bytes | None]


def attach(container: Container) -> Iterator[Chunk]:
    """The output of a container that has no terminal. The SDK's own function asks the daemon first whether it has one.

    Raises:
        docker.errors.APIError: the daemon refuses it.
    """
    socket: Any = container.attach_socket(params={"stdout": 1, "stderr": 1, "stream": 1})
    frames: Iterator[Any] = frames_iter_no_tty(socket)
    return (demux_adaptor(*frame) for frame in frames)


class Output:
    """The streams of a container, read by a separate thread while the runner watches the launch."""

    def __init__(self, chunks: Iterator[Chunk], streams: Streams, *, name: str) -> None:
        self.streams = streams
        self._chunks = chunks
        self._broke: Exception | None = None
        self._not_taken: Exception | None = None
        self._ended_or_full = threading.Event()
        self._thread = threading.Thread(target=self._read, name=f"read-{name}", daemon=True)

    def start(self) -> None:
        """Begin to read."""
        self._thread.start()

    def wait(self, seconds: float) -> bool:
        """Wait for the end of the streams, or for too much output; return false when the time is up first."""
        return self._ended_or_full.wait(max(0.0, seconds))

    def finish(self, seconds: float) -> str | None:
        """Read the last bytes; return why some did not arrive, or None.

        Raises:
            Exception: the reader of the lines raised it.
        """
        self._thread.join(timeout=seconds)
        self.streams.close(whole=not self._thread.is_alive())
        if self._not_taken is not None:
            raise self._not_taken
        if self._thread.is_alive():
            return "the output of a launch did not end with its container"
        return None if self._broke is None else in_one_line(self._broke)

    @property
    def stderr(self) -> str:
        """The end of it."""
        return self.streams.stderr.text()

    def _read(self) -> None:
        try:
            for stdout, stderr in self._received():
                self.streams.feed(stdout, stderr)
                if self.streams.failure is not None:
                    self._ended_or_full.set()
        except Exception as error:  # noqa: BLE001 (raised again by the thread that waits)
            self._not_taken = error
        finally:
            self._ended_or_full.set()

    def _received(self) -> Iterator[Chunk]:
        try:
            yield from self._chunks
        except _READING_BROKE as error:
            self._broke = error


class Witness:
    """A request that waits for the end of a container beside its attached streams.

    Attributes:
        exit_code: of the container, once its end is known.
    """

    def __init__(self, container: Container, *, name: str) -> None:
        self.exit_code: int | None = None
        self._container = container
        self._broke: Exception | None = None
        self._thread = threading.Thread(target=self._wait, name=f"end-{name}", daemon=True)
        self._thread.start()

    def contradiction(self) -> str | None:
        """Why the end of the streams is not the end of the container, or None.

        Raises:
            docker.errors.APIError: the container is gone.
        """
        self._thread.join(timeout=_BOTH_ENDS_SECONDS / 2)
        if self._broke is not None:
            return in_one_line(self._broke)
        if self.exit_code is None:
            try:
                # A new request asks, because an idle connection may be dropped silently after an hour.
                self.exit_code = _waited(self._container, _BOTH_ENDS_SECONDS / 2)
            except APIError:
                raise
            except BROKEN_CONNECTION:
                return f"the output of a launch ended {_BOTH_ENDS_SECONDS:g} s and more before its container"
        return None

    def ended(self, seconds: float) -> None:
        """Wait for the end of a container that was killed.

        Raises:
            docker.errors.APIError: the container is gone.
            BROKEN_CONNECTION: it did not end in time.
        """
        self.exit_code = _waited(self._container, seconds)

    def _wait(self) -> None:
        try:
            self.exit_code = _waited(self._container, None)
        except APIError:
            # The daemon answered, so the connection works. A new request asks how the container ended.
            return
        except _READING_BROKE as error:
            self._broke = error


def _waited(container: Container, seconds: float | None) -> int:
    """The exit code of a container, when it has ended."""
    answer: Any = container.wait(timeout=seconds)
    return int(answer["StatusCode"])


def connection_broke(why: str) -> DockerUnavailable:
    """The error for a broken connection that lost an answer or a launch's output."""
    return DockerUnavailable(
        what="the connection to the Docker daemon broke",
        why=why,
        fix="see that the daemon runs, then run again: finished cells are stored",
    )


def in_one_line(error: Exception) -> str:
    """A short text of an error of the daemon, in its own words, or of the connection."""
    # The SDK's text begins with the request's address, which leaves no room for the reason.
    said = error.explanation if isinstance(error, APIError) and error.explanation else error
    return " ".join(str(said).split())[:300]
