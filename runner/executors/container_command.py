"""A command in a running container, and all that it prints.

The SDK's own ``exec_start`` reads the socket below the buffer that took the head of the answer. Bytes that arrive
together with the head stay in that buffer and are lost. Over SSH that was about one answer in a hundred. This module
reads the buffer itself.
"""

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import requests

import docker

_STDOUT, _STDERR = 1, 2
# The stream of a frame, three zeros, and the number of its bytes.
_FRAME = struct.Struct(">BxxxL")


@dataclass(frozen=True)
class Printed:
    """A command that was run: its number at the daemon, and what it printed."""

    identifier: str
    stdout: bytes
    stderr: bytes


def run_in(
    api: docker.APIClient,
    container: str,
    command: Sequence[str],
    *,
    user: str = "",
    seconds: float | None = None,
) -> Printed:
    """Run a command in a container, and return when it has ended.

    Args:
        api: the daemon.
        container: which runs.
        command: its words.
        user: whose rights it has; the container's own user if empty.
        seconds: the longest silence between two pieces of its output; None for any.

    Raises:
        docker.errors.APIError: the daemon refuses it.
        requests.RequestException, OSError: the connection broke.
    """
    return run_told(api, tell(api, container, command, user=user), seconds=seconds)


def tell(api: docker.APIClient, container: str, command: Sequence[str], *, user: str = "") -> str:
    """Tell a daemon a command, as for `run_in`, and return its number there. Nothing is run yet.

    Raises:
        docker.errors.APIError: the daemon refuses it.
        requests.RequestException, OSError: the connection broke.
    """
    return str(api.exec_create(container, list(command), stdout=True, stderr=True, user=user)["Id"])


def run_told(api: docker.APIClient, identifier: str, *, seconds: float | None = None) -> Printed:
    """Run a command that the daemon was told, as `run_in` does. It can be run once.

    Raises:
        docker.errors.APIError: the daemon refuses it.
        requests.RequestException, OSError: the connection broke.
    """
    attached: Any = api.exec_start(identifier, socket=True)
    answer = attached._response
    try:
        answer.raw._connection.sock.settimeout(seconds)
        streams = separated(answer.raw._fp.fp.read())
    finally:
        answer.close()
    return Printed(identifier, stdout=streams[0], stderr=streams[1])


def separated(said: bytes) -> tuple[bytes, bytes]:
    """The two streams, output and errors, that an answer carries in frames.

    Raises:
        requests.ConnectionError: the answer ends within a frame, so its connection broke.
    """
    streams: dict[int, list[bytes]] = {_STDOUT: [], _STDERR: []}
    at = 0
    while at < len(said):
        if len(said) - at < _FRAME.size:
            raise _cut_short()
        stream, size = _FRAME.unpack_from(said, at)
        at += _FRAME.size
        if len(said) - at < size:
            raise _cut_short()
        streams.setdefault(stream, []).append(said[at : at + size])
        at += size
    return b"".join(streams[_STDOUT]), b"".join(streams[_STDERR])


def _cut_short() -> requests.ConnectionError:
    return requests.ConnectionError("the output of a command in a container ended before its end")
