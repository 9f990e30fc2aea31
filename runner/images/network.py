"""The network that a build's steps can use."""

import os
from urllib.parse import urlsplit

from runner.matrix.toolchain import Toolchain

_LOOPBACK = ("127.0.0.1", "::1", "localhost")
# Arguments that every Dockerfile has. They enter neither an image's history nor the key of a cached step.
_PROXIES = ("http_proxy", "https_proxy", "ftp_proxy", "all_proxy")


def network_arguments(toolchain: Toolchain) -> list[str]:
    """The proxies of this process, and the host's network where a proxy or the archive is on this machine.

    A build step sees no variable of this process. Without the proxies it would use the network directly, which a
    host may lack.
    """
    proxies = [name for each in _PROXIES for name in (each, each.upper()) if os.environ.get(name)]
    exceptions = [name for name in ("no_proxy", "NO_PROXY") if os.environ.get(name)]
    places = [toolchain.mirror, *(os.environ[name] for name in proxies)]
    return [
        *(["--network", "host"] if any(map(_is_here, places)) else []),
        # Only the name is passed, so that no list of processes shows a proxy's password.
        *(word for name in (*proxies, *exceptions) for word in ("--build-arg", name)),
    ]


def _is_here(address: str) -> bool:
    return urlsplit(address if "//" in address else f"//{address}").hostname in _LOOPBACK
