"""Which network a build's steps have."""

import os
from urllib.parse import urlsplit

from runner.matrix.toolchain import Toolchain

_LOOPBACK = ("127.0.0.1", "::1", "localhost")
# Arguments that every Dockerfile has: neither an image's history nor the key of a cached step holds them.
_PROXIES = ("http_proxy", "https_proxy", "ftp_proxy", "all_proxy")


def network_arguments(toolchain: Toolchain) -> list[str]:
    """The proxies that this process was told of; the host's network where one, or the archive, is on this machine.

    A step of a build sees no variable of ours: without these it would ask the network itself, where a host may have none.
    """
    proxies = [name for each in _PROXIES for name in (each, each.upper()) if os.environ.get(name)]
    exceptions = [name for name in ("no_proxy", "NO_PROXY") if os.environ.get(name)]
    places = [toolchain.mirror, *(os.environ[name] for name in proxies)]
    return [
        *(["--network", "host"] if any(map(_is_here, places)) else []),
        # By name alone, so that no list of processes shows a proxy's password.
        *(word for name in (*proxies, *exceptions) for word in ("--build-arg", name)),
    ]


def _is_here(address: str) -> bool:
    return urlsplit(address if "//" in address else f"//{address}").hostname in _LOOPBACK
