"""The output of a container, and the proof that all of it arrived.

An attached stream has no mark of its end, so a broken connection looks like an ended container. A second request
therefore waits for the container's end. It fails with the connection, and its answer holds the time of the end.
"""

import threading
from collections.abc import Iterator

from docker.errors import APIError
from docker.models.containers import Container

from runner.daemon.connection import BROKEN_CONNECTION
from runner.executors.watch import Streams
from runner.system.errors import DockerUnavailable

_READING_BROKE: tuple[type[Exception], ...] = (*BROKEN_CONNECTION, OSError, ValueError)
# A container's init holds its streams, so both end together. A busy daemon reports the end some time later.
_BOTH_ENDS_SECONDS = 10.0


class Output:
    """The streams of a container, read by a separate thread while the runner watches the launch."""

    def __init__(
        self, chunks: Iterator[tuple[bytes | None, bytes | None]], streams: Streams, *, name: str
    ) -> None:
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

    def _received(self) -> Iterator[tuple[bytes | None, bytes | None]]:
        try:
            yield from self._chunks
        except _READING_BROKE as error:
            self._broke = error


class Witness:
    """A request that waits for the end of a container beside its attached streams."""

    def __init__(self, container: Container, *, name: str) -> None:
        self._container = container
        self._broke: Exception | None = None
        self._thread = threading.Thread(target=self._wait, name=f"end-{name}", daemon=True)
        self._thread.start()

    def contradiction(self) -> str | None:
        """Why the end of the streams is not the end of the container, or None.

        Raises:
            docker.errors.APIError: the container is gone.
        """
        try:
            # A new request asks, because an idle connection may be dropped silently after an hour.
            self._container.wait(timeout=_BOTH_ENDS_SECONDS)
        except APIError:
            raise
        except BROKEN_CONNECTION:
            return f"the output of a launch ended {_BOTH_ENDS_SECONDS:g} s and more before its container"
        self._thread.join(timeout=_BOTH_ENDS_SECONDS)
        return None if self._broke is None else in_one_line(self._broke)

    def _wait(self) -> None:
        try:
            self._container.wait(timeout=None)
        except APIError:
            # The daemon answered, so the connection works. Other code asks how the container ended.
            return
        except _READING_BROKE as error:
            self._broke = error


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
