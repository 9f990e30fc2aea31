"""What is private about this very host: where its checkout lies, who works on it, and what it trusts and asks."""

import base64
import getpass
import os
import re
import socket
from collections.abc import Iterator
from pathlib import Path

# Names that half of all machines and containers have say nothing about one.
_COMMON = frozenset(
    {
        "root",
        "user",
        "admin",
        "debian",
        "ubuntu",
        "runner",
        "build",
        "builder",
        "docker",
        "localhost",
        "localdomain",
    }
)
_SHORTEST = 6
# Public addresses that everybody's tools name.
_PUBLIC = re.compile(
    r"(?:[a-z0-9-]+\.)*(?:debian\.org|ubuntu\.com|python\.org|pypi\.org|pythonhosted\.org|crates\.io|rust-lang\.org"
    r"|github\.com|githubusercontent\.com|google\.com|googleapis\.com|nodesource\.com|docker\.com|docker\.io|localhost"
    r"|example\.com|w3\.org)",
    re.IGNORECASE,
)
_ADDRESS = re.compile(
    r"(?:https?|socks5h?|ftp|tcp|ssh)://(?:[^\s/@'\"]+@)?(?P<host>\[?[A-Za-z0-9._:-]+\]?)[^\s'\"]*"
)
_CONFIGURATION = (
    "/etc/pip.conf", "/etc/apt/sources.list", "/etc/environment", "~/.config/pip/pip.conf", "~/.pip/pip.conf",
    "~/.cargo/config.toml", "~/.cargo/config", "~/.config/uv/uv.toml", "~/.docker/config.json", "~/.npmrc",
    "/etc/docker/daemon.json",
)  # fmt: skip
_CONFIGURATION_FOLDERS = ("/etc/apt/sources.list.d", "/etc/apt/apt.conf.d")
_CERTIFICATE = re.compile(rb"-----BEGIN CERTIFICATE-----(.*?)-----END CERTIFICATE-----", re.DOTALL)
_DISTRIBUTED = Path("/usr/share/ca-certificates")


def private_values(checkout: Path) -> list[tuple[str, bytes]]:
    """What must be nowhere, with a name for each."""
    found = [*_places(checkout), *_names(), *_addresses()]
    values = [(name, value.encode()) for name, value in found]
    values += [("certificate of the host", part) for part in _own_certificates()]
    return list(dict.fromkeys(values))


def _places(checkout: Path) -> Iterator[tuple[str, str]]:
    # What is the same on many machines, such as /src or /root, is inside images too, and says nothing about this one.
    if len(checkout.parts) > 2:
        yield "path of the checkout", str(checkout)
    home = Path.home()
    if len(home.parts) > 2 and home.name not in _COMMON:
        yield "home directory", str(home)


def _names() -> Iterator[tuple[str, str]]:
    for name, value in (
        ("host name", socket.gethostname()),
        ("host name", socket.getfqdn()),
        ("user", _user()),
    ):
        if len(value) >= _SHORTEST and value.lower() not in _COMMON:
            yield name, value


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return ""


def _addresses() -> Iterator[tuple[str, str]]:
    """Proxies, mirrors and indexes: the hosts in variables and configuration that look like addresses."""
    for name, value in os.environ.items():
        yield from _hosts(f"address in ${name}", value)
    files = [Path(name).expanduser() for name in _CONFIGURATION]
    for folder in _CONFIGURATION_FOLDERS:
        files += sorted(Path(folder).glob("*"))
    for path in files:
        if path.is_file() and os.access(path, os.R_OK):
            yield from _hosts(f"address in {path}", path.read_text(encoding="utf-8", errors="replace"))


def _hosts(name: str, text: str) -> Iterator[tuple[str, str]]:
    for found in _ADDRESS.finditer(text):
        host = found["host"].strip("[].")
        bare = re.sub(r":\d+$", "", host)
        if len(bare) >= _SHORTEST and not _PUBLIC.fullmatch(bare) and not bare.startswith("127."):
            yield name, bare


def _own_certificates() -> Iterator[bytes]:
    """A part from the middle of each certificate that the host trusts beside its distribution's, in either form."""
    bundle = Path(os.environ.get("SSL_CERT_FILE") or "/etc/ssl/certs/ca-certificates.crt")
    if not bundle.is_file() or not _DISTRIBUTED.is_dir():
        return
    known = {der for path in _DISTRIBUTED.rglob("*.crt") for der in _certificates(path)}
    for der in _certificates(bundle):
        if der not in known:
            middle = len(der) // 2 // 3 * 3
            yield der[middle : middle + 48]
            text = base64.b64encode(der)
            start = middle // 3 * 4
            # Lines of 64: a part of one line is whole however the file is wrapped.
            line = start // 64 * 64
            yield text[line : line + 64]


def _certificates(path: Path) -> list[bytes]:
    try:
        data = path.read_bytes()
    except OSError:
        return []
    return [base64.b64decode(b"".join(body.split())) for body in _CERTIFICATE.findall(data)]
