"""Causes of a failed build that a user can remove, found in the build's output."""

import re
from collections.abc import Callable
from pathlib import Path

from runner.daemon.unavailable import is_connection_trouble
from runner.system.errors import DockerUnavailable, ForgeBenchError, MirrorUnreachable
from runner.system.space import is_full, no_space

# How apt, pip, uv, cargo and mmdebstrap (which runs apt) report an unknown name or an unreachable server.
_UNREACHABLE = re.compile(
    r"temporary failure (?:in name resolution|resolving)|could not resolve|couldn't resolve|name or service not known"
    r"|could not connect to|unable to connect to|cannot initiate the connection|connection (?:timed out|refused|reset)"
    r"|network is unreachable|failed to establish a new connection|dns error|error sending request for url"
    r"|failed to lookup address|no such host|i/o timeout|tls handshake timeout",
    re.IGNORECASE,
)
_GONE = re.compile(
    r"failed to fetch .*?\b40[34]\b|does not have a release file|\b404 +not found", re.IGNORECASE
)
_ADDRESS = re.compile(r"https?://([^/\s'\"`)]+)")
_HOST = re.compile(
    r"(?:resolving|resolve(?: host)?:?|lookup|connect to|connection to) '?([a-z0-9][a-z0-9-]*(?:\.[a-z0-9-]+)+)",
    re.IGNORECASE,
)
_PREFIX = re.compile(r"^#\d+\s+(?:[\d.]+\s+)?")
_LONGEST = 300


def diagnose(text: str, *, what: str, log: Path) -> ForgeBenchError | None:
    """The typed cause in a build's output, or None where no known cause occurs.

    Args:
        text: the whole output of the build.
        what: what failed, for the message.
        log: where the output lies.
    """
    lines = [_PREFIX.sub("", line).strip() for line in text.splitlines()]
    if found := _first(lines, is_full):
        return no_space(what, found)
    if found := _first(lines, is_connection_trouble):
        return DockerUnavailable(
            what=f"{what}: the connection to the Docker daemon broke",
            why=found,
            fix="check that the daemon runs (docker info), then run again: finished steps are cached",
        )
    if found := _first(lines, _UNREACHABLE.search):
        return MirrorUnreachable(
            what=f"{what}: {_server(lines, found)} could not be reached",
            why=found,
            fix="check that this machine has a network and resolves names, then run again: finished steps are cached; "
            f"log: {log}",
        )
    if found := _first(lines, _GONE.search):
        return MirrorUnreachable(
            what=f"{what}: {_server(lines, found)} does not have what was asked for",
            why=found,
            fix=f"run again (a mirror may be in the middle of an update); log: {log}",
        )
    return None


def _first(lines: list[str], matches: Callable[[str], object]) -> str | None:
    return next((line[:_LONGEST] for line in lines if matches(line)), None)


def _server(lines: list[str], found: str) -> str:
    """The server that the line names, or the first that any line names."""
    named = _HOST.search(found) or _ADDRESS.search(found)
    if named is None:
        named = next((match for line in lines if (match := _ADDRESS.search(line))), None)
    return named[1].rstrip(".") if named else "a package server"
