"""The package mirror: whether it answers, and which versions of the pinned packages it serves."""

import http.client
import io
import lzma
import threading
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from runner.images.lock import upstream

_PYTORCH = "python3-torch"
# Debian 13 has its newer Rust under a name of its own.
_RUST = {"trixie": "rustc-web"}
_ANSWER_SECONDS = 10.0
_INDEX_SECONDS = 60.0
_MOST_INDEX_BYTES = 64 * 2**20


@dataclass(frozen=True, kw_only=True)
class Mirror:
    """The answer of a mirror about a suite. ``problem`` is None where the mirror answered.

    ``served`` gives, by pin (rust, python, pytorch), the upstream versions that the suite has; None where its index
    was not read.
    """

    url: str
    suite: str
    problem: str | None
    served: Mapping[str, frozenset[str]] | None = None


def ask(url: str, suite: str, *, architecture: str | None = None, python: str = "3") -> Mirror:
    """Ask the mirror for the suite's Release file, and read its index where an architecture is named.

    Args:
        url: the mirror, as http://host/debian.
        suite: the Debian suite.
        architecture: whose index of packages is read (some 10 MB); None for none.
        python: the pinned Python, which names its package.

    The time is bounded in every state of the network.
    """
    release = f"{url}/dists/{suite}/Release"
    problem = _bounded(lambda: _head(release), _ANSWER_SECONDS)
    served: list[Mapping[str, frozenset[str]]] = []
    if problem is None and architecture is not None:
        index = f"{url}/dists/{suite}/main/binary-{architecture}/Packages.xz"
        names = packages_of_pins(python, suite)
        problem = _bounded(lambda: served.append(_served(_fetch(index), names)), _INDEX_SECONDS)
    return Mirror(url=url, suite=suite, problem=problem, served=served[0] if served else None)


def packages_of_pins(python: str, suite: str) -> Mapping[str, str]:
    """By the name of a pin (rust, python, pytorch), the suite's package that holds it; ``python`` names its own."""
    named = f"python{'.'.join(python.split('.')[:2])}"
    return {"rust": _RUST.get(suite, "rustc"), "python": named, "pytorch": _PYTORCH}


def _bounded(download: Callable[[], object], seconds: float) -> str | None:
    """Do ``download``; return its error as text, or None. A resolver's timeout is longer than a socket's."""
    ended: list[str | None] = []

    def body() -> None:
        try:
            download()
        except urllib.error.HTTPError as error:
            ended.append(f"{error.url} answers {error.code} {error.reason}")
        except urllib.error.URLError as error:
            ended.append(str(error.reason))
        except (http.client.HTTPException, OSError, ValueError, EOFError, lzma.LZMAError) as error:
            ended.append(f"{type(error).__name__}: {error}")
        else:
            ended.append(None)

    thread = threading.Thread(target=body, name="mirror", daemon=True)
    thread.start()
    thread.join(seconds)
    return ended[0] if ended else f"no answer in {seconds:.0f} s"


def _head(url: str) -> None:
    request = urllib.request.Request(url, method="HEAD")  # noqa: S310 (http by the matrix's own mirror)
    with urllib.request.urlopen(request, timeout=_ANSWER_SECONDS):  # noqa: S310 (likewise)
        pass


def _fetch(url: str) -> bytes:
    with urllib.request.urlopen(url, timeout=_ANSWER_SECONDS) as answer:  # noqa: S310 (likewise)
        content: bytes = answer.read(_MOST_INDEX_BYTES + 1)
    if len(content) > _MOST_INDEX_BYTES:
        raise ValueError(f"{url} is larger than any index of packages")
    return content


def _served(compressed: bytes, package_of_pin: Mapping[str, str]) -> Mapping[str, frozenset[str]]:
    """The upstream versions of these packages in an index; a few lines of a hundred megabytes are looked at."""
    wanted = {package: pin for pin, package in package_of_pin.items()}
    versions_of: dict[str, set[str]] = {pin: set() for pin in package_of_pin}
    package = ""
    with lzma.open(io.BytesIO(compressed)) as index:
        for line in index:
            name, _, value = line.decode("utf-8", "replace").strip().partition(": ")
            if name == "Package":
                package = value
            elif name == "Version" and package in wanted:
                versions_of[wanted[package]].add(upstream(value))
    return {pin: frozenset(versions) for pin, versions in versions_of.items()}
