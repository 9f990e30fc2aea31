"""A Debian archive of our own with one folder a moment, made in Python and served on loopback."""

import contextlib
import gzip
import hashlib
import io
import tarfile
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path


@dataclass(frozen=True)
class Deb:
    """A package without content."""

    name: str
    version: str
    architecture: str
    depends: str = ""

    @property
    def control(self) -> str:
        fields = {
            "Package": self.name,
            "Version": self.version,
            "Architecture": self.architecture,
            "Maintainer": "Nobody <nobody@example.invalid>",
            "Depends": self.depends,
            "Description": "nothing",
        }
        return "".join(f"{key}: {value}\n" for key, value in fields.items() if value)

    @property
    def path(self) -> str:
        # As in Debian's own archive, a file's name leaves out the epoch.
        version = self.version.partition(":")[2] or self.version
        return f"pool/main/{self.name}/{self.name}_{version}_{self.architecture}.deb"

    def build(self) -> bytes:
        """The .deb: an ar archive of the format's version, the control file and no file at all."""
        members = {
            "debian-binary": b"2.0\n",
            "control.tar.gz": _tar({"./control": self.control}),
            "data.tar.gz": _tar({}),
        }
        parts = [b"!<arch>\n"]
        for name, content in members.items():
            parts.append(f"{name:<16}{0:<12}{0:<6}{0:<6}{100644:<8}{len(content):<10}`\n".encode())
            parts.append(content + b"\n" * (len(content) % 2))
        return b"".join(parts)


def write_archive(directory: Path, suite: str, packages: list[Deb], *, run_out: bool = True) -> None:
    """An archive whose index has run out, as that of a past day has, or one of today."""
    indices: dict[str, str] = {}
    for architecture in ("amd64", "arm64"):
        stanzas = []
        for deb in packages:
            if deb.architecture not in (architecture, "all"):
                continue
            content = deb.build()
            file = directory / deb.path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content)
            checksum = hashlib.sha256(content).hexdigest()
            stanzas.append(f"{deb.control}Filename: {deb.path}\nSize: {len(content)}\nSHA256: {checksum}\n")
        indices[f"main/binary-{architecture}/Packages"] = "\n".join(stanzas)
    dists = directory / "dists" / suite
    lines = []
    for name, text in indices.items():
        (dists / name).parent.mkdir(parents=True, exist_ok=True)
        (dists / name).write_text(text, encoding="utf-8")
        lines.append(f" {hashlib.sha256(text.encode()).hexdigest()} {len(text.encode())} {name}\n")
    (dists / "Release").write_text(
        f"Suite: {suite}\nCodename: {suite}\nArchitectures: amd64 arm64\nComponents: main\n"
        "Date: Thu, 01 Jan 2026 00:00:00 UTC\n"
        f"{'Valid-Until: Thu, 08 Jan 2026 00:00:00 UTC' if run_out else 'Label: today'}\n"
        f"SHA256:\n{''.join(lines)}",
        encoding="utf-8",
    )


@contextlib.contextmanager
def served(directory: Path) -> Iterator[str]:
    """The directory over HTTP on loopback; yields its address."""
    handler = partial(_Quiet, directory=str(directory))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()
        thread.join()


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 (the name is the base's)
        pass


def _tar(files: dict[str, str]) -> bytes:
    buffer = io.BytesIO()
    with (
        gzip.GzipFile(fileobj=buffer, mode="wb", mtime=0) as packed,
        tarfile.open(fileobj=packed, mode="w") as archive,
    ):
        for name, text in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(text.encode())
            archive.addfile(entry, io.BytesIO(text.encode()))
    return buffer.getvalue()
