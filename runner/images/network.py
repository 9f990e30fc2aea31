"""Which network a build's steps have."""

from urllib.parse import urlsplit

from runner.images.spec import Toolchain

_LOOPBACK = ("127.0.0.1", "::1", "localhost")


def network_arguments(toolchain: Toolchain) -> list[str]:
    """The host's network where packages come from an archive on this machine; the daemon's own way otherwise."""
    return ["--network", "host"] if urlsplit(toolchain.mirror).hostname in _LOOPBACK else []
