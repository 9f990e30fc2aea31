"""Every file of every layer of images as `docker save` streams them: each layer once, nothing written to a disk."""

import gzip
import subprocess
import tarfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import IO

from tests.scan.rules import LARGEST_TEXT, Finding, Scanner

_BLOCK = 4 * 2**20
# What we wrote, and what an administrator would: there a password has no business at all.
_OURS = (
    "/opt/forge-bench/runner/",
    "/opt/forge-bench/baselines/",
    "/opt/forge-bench/templates/",
    "/etc/",
    "/root/",
)


@dataclass
class Scanned:
    """How much was looked at, and what was found."""

    layers: int = 0
    files: int = 0
    bytes: int = 0
    findings: tuple[Finding, ...] = ()


def scan_images(images: Sequence[str], scanner: Scanner) -> Scanned:
    """Scan images of the local daemon: their layers, and their configuration with its history.

    Raises:
        RuntimeError: docker cannot save them.
    """
    with subprocess.Popen(
        ["docker", "save", *images], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        try:
            scanned = scan_archive(process.stdout, scanner)
        except tarfile.ReadError as error:
            process.kill()
            raise RuntimeError(f"docker save: {process.stderr.read().decode(errors='replace')}") from error
        # What stands behind the end of the archive.
        while process.stdout.read(_BLOCK):
            pass
    if process.returncode != 0:
        raise RuntimeError(f"docker save ended with {process.returncode}")
    return scanned


def scan_archive(stream: IO[bytes], scanner: Scanner) -> Scanned:
    """Scan a docker-archive or OCI archive."""
    scanned = Scanned()
    findings: list[Finding] = []
    with tarfile.open(fileobj=stream, mode="r|") as outer:
        for entry in outer:
            content = outer.extractfile(entry) if entry.isfile() else None
            if content is None:
                continue
            head = content.read(512)
            if head[257:262] == b"ustar":
                findings += _layer(_Joined(head, content), entry.name, scanner, scanned)
            elif head[:2] == b"\x1f\x8b":
                findings += _layer(
                    gzip.GzipFile(fileobj=_Joined(head, content)), entry.name, scanner, scanned
                )
            else:
                # Configurations and manifests: the environment, the labels and every step's command.
                rest = head + content.read(16 * LARGEST_TEXT)
                findings += scanner.content(f"image configuration {entry.name}", iter([rest]), ours=True)
    scanned.findings = tuple(dict.fromkeys(findings))
    return scanned


def _layer(stream: IO[bytes], name: str, scanner: Scanner, scanned: Scanned) -> Iterator[Finding]:
    scanned.layers += 1
    del name
    with tarfile.open(fileobj=stream, mode="r|") as layer:
        for entry in layer:
            path = f"/{entry.name.lstrip('./')}"
            if entry.isfile() or entry.issym():
                yield from scanner.name(path)
            # A link's target, and what tar says beside a name: an owner's name may be a person's.
            words = " ".join(
                (path, entry.linkname, entry.uname, entry.gname, *map(str, entry.pax_headers.values()))
            )
            yield from scanner.content(path, iter([words.encode("utf-8", "surrogateescape")]))
            file = layer.extractfile(entry) if entry.isfile() else None
            if file is not None:
                scanned.files += 1
                scanned.bytes += entry.size
                blocks = iter(lambda file=file: file.read(_BLOCK), b"")
                yield from scanner.content(path, blocks, ours=path.startswith(_OURS))


class _Joined:
    """The head that was read already, and the rest."""

    def __init__(self, head: bytes, rest: IO[bytes]) -> None:
        self._head = head
        self._rest = rest

    def read(self, size: int = -1) -> bytes:
        if not self._head:
            return self._rest.read(size)
        if size < 0:
            data, self._head = self._head + self._rest.read(), b""
            return data
        data, self._head = self._head[:size], self._head[size:]
        return data if len(data) == size else data + self._rest.read(size - len(data))
