"""An archive of ``docker save`` from anywhere: what is in it, and one image of it written anew, without its names.

An archive names its images itself. Were it loaded as it is, its names would be taken from other images, and a second
image in it would come along. So a daemon gets an archive that is written here: one image, known by the hash of its
configuration, under a name that is given here. The daemon compares the layers with what the configuration says of them.
"""

import hashlib
import io
import json
import lzma
import re
import tarfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from runner.system.bounded_archive import BoundedTarFile, BoundedTarInfo
from runner.system.errors import ImageNotFound
from runner.system.plain_tar import Piece

# A configuration has some kilobytes; of what is read only a few texts are kept.
_LARGEST_JSON = 2**21
_MOST_IMAGES = 100
_LARGEST_IMAGE = 2**36
_MOST_LAYERS = 1000


@dataclass(frozen=True, kw_only=True)
class ArchivedImage:
    """One image of an archive.

    Attributes:
        configuration: what its configuration says.
        text: the bytes of that.
        layers: the names of its layers in the archive, bottom first; None where the archive does not say.
    """

    configuration: Mapping[str, Any]
    text: bytes
    layers: tuple[str, ...] | None

    @property
    def digest(self) -> str:
        """The config digest: worked out here, because a name inside an archive proves nothing."""
        return f"sha256:{hashlib.sha256(self.text).hexdigest()}"

    @property
    def labels(self) -> Mapping[str, str] | None:
        """What the image says of itself."""
        found = _object(self.configuration.get("config")).get("Labels")
        return found if isinstance(found, dict) else None

    @property
    def layer_hashes(self) -> list[Any] | None:
        """The SHA-256 of each unpacked layer, as the configuration has them."""
        found = _object(self.configuration.get("rootfs")).get("diff_ids")
        return found if isinstance(found, list) else None


def images_in(path: Path) -> Iterator[ArchivedImage]:
    """Every image of an archive, one after another.

    Raises:
        ImageNotFound: it is no archive of ``docker save``.
    """
    with _archive(path) as archive:
        yield from (_image(path, archive, entry) for entry in _manifest(path, archive))


def write_alone(path: Path, digest: str, *, name: str, into: Path) -> ArchivedImage:
    """Write the image with the config digest ``digest`` as an archive of its own to ``into``; returns it.

    Args:
        path: the archive that it is in.
        digest: of its configuration.
        name: the one name that a daemon gives it.
        into: a file that is not there yet.

    Raises:
        ImageNotFound: it is not in there, or not all of it.
        OSError: it cannot be written.
    """
    with _archive(path) as archive:
        entries = (_image(path, archive, entry) for entry in _manifest(path, archive))
        image = next((each for each in entries if each.digest == digest), None)
        if image is None or image.layers is None:
            raise unreadable(path, f"there is no whole image {digest} in it")
        members = {each: _layer(path, archive, each) for each in dict.fromkeys(image.layers)}
        if sum(member.size for member in members.values()) > _LARGEST_IMAGE:
            raise unreadable(path, f"the image is larger than {_LARGEST_IMAGE // 2**30} GiB")
        names = {each: f"{number}.tar" for number, each in enumerate(members)}
        hexadecimal = digest.partition(":")[2]
        manifest = [
            {
                "Config": f"{hexadecimal}.json",
                "RepoTags": [name],
                "Layers": [names[each] for each in image.layers],
            }
        ]
        with tarfile.open(into, "x") as alone:
            _add(alone, "manifest.json", json.dumps(manifest).encode())
            _add(alone, f"{hexadecimal}.json", image.text)
            # In the order in which they lie: going back in a compressed file begins it again.
            for each, member in sorted(members.items(), key=lambda pair: pair[1].offset):
                entry = tarfile.TarInfo(names[each])
                entry.size = member.size
                with _content(path, archive, member) as content:
                    alone.addfile(entry, content)
    return image


def layers_of(path: Path, image: ArchivedImage) -> tuple[Piece, ...]:
    """Where each layer of an image lies in an archive that is not compressed, bottom first.

    Raises:
        ImageNotFound: the archive does not hold the whole image.
    """
    if image.layers is None:
        raise unreadable(path, f"there is no whole image {image.digest} in it")
    with _archive(path) as archive:
        members = [_layer(path, archive, each) for each in image.layers]
    return tuple(Piece(path=path, offset=each.offset_data, size=each.size) for each in members)


def small_files(path: Path, image: ArchivedImage, wanted: re.Pattern[str]) -> dict[str, bytes]:
    """The regular files of an image whose paths match ``wanted``; an upper layer replaces what is below.

    A file that an upper layer removed is still found. Files of more than 2 MiB are left out.

    Raises:
        ImageNotFound: the archive does not hold the whole image, or a layer is no tar.
    """
    found: dict[str, bytes] = {}
    with _archive(path) as archive:
        for layer in dict.fromkeys(image.layers or ()):
            with (
                _content(path, archive, _layer(path, archive, layer)) as content,
                tarfile.open(fileobj=content, tarinfo=BoundedTarInfo) as files,
            ):
                for entry in files:
                    name = entry.name.removeprefix("./")
                    if entry.isreg() and entry.size <= _LARGEST_JSON and wanted.fullmatch(name):
                        with _content(path, files, entry) as file:
                            found[name] = file.read()
    return found


def unreadable(path: Path, why: str) -> ImageNotFound:
    """The error for a file that is no archive of an image."""
    return ImageNotFound(
        what=f"{path} is not an archive of docker save that can be read",
        why=why,
        fix="write it again where the image is: docker save --output FILE IMAGE",
    )


@contextmanager
def _archive(path: Path) -> Iterator[tarfile.TarFile]:
    try:
        with BoundedTarFile.open(path) as archive:
            yield archive
    except (EOFError, tarfile.TarError, zlib.error, lzma.LZMAError) as error:
        raise unreadable(path, str(error)) from error
    except OSError as error:
        # With a number it is the system's own word, and may be of a file that is written.
        if error.errno is not None and error.filename != str(path):
            raise
        raise unreadable(path, str(error)) from error


def _manifest(path: Path, archive: tarfile.TarFile) -> list[dict[str, Any]]:
    found = _json(_small(path, archive, "manifest.json"))
    if not isinstance(found, list) or not all(
        isinstance(each, dict) and isinstance(each.get("Config"), str) for each in found
    ):
        raise unreadable(path, "its manifest.json is not that of docker save")
    if len(found) > _MOST_IMAGES:
        raise unreadable(path, f"it holds more than {_MOST_IMAGES} images")
    return found


def _image(path: Path, archive: tarfile.TarFile, entry: Mapping[str, Any]) -> ArchivedImage:
    text = _small(path, archive, str(entry["Config"]))
    configuration = _json(text)
    if not isinstance(configuration, dict):
        raise unreadable(path, f"{entry['Config']} is no image configuration")
    layers = entry.get("Layers")
    said = (
        isinstance(layers, list)
        and len(layers) <= _MOST_LAYERS
        and all(isinstance(each, str) for each in layers)
    )
    return ArchivedImage(configuration=configuration, text=text, layers=tuple(layers) if said else None)  # type: ignore[arg-type]  # a list


def _small(path: Path, archive: tarfile.TarFile, name: str) -> bytes:
    try:
        file = archive.extractfile(name)
    except (KeyError, RecursionError) as error:
        raise unreadable(path, f"there is no {name} in it") from error
    content = file.read(_LARGEST_JSON + 1) if file is not None else b""
    if not content or len(content) > _LARGEST_JSON:
        raise unreadable(path, f"its {name} is empty or too large")
    return content


def _layer(path: Path, archive: tarfile.TarFile, name: str) -> tarfile.TarInfo:
    """The file that a layer is: older releases of Docker link equal ones to each other."""
    try:
        member = archive.getmember(name)
        for _ in range(_MOST_LAYERS):
            if member.isreg():
                return member
            if not (member.issym() or member.islnk()):
                break
            member = archive._find_link_target(member)  # type: ignore[attr-defined]  # what extractfile does
    except KeyError:
        pass
    raise unreadable(path, f"there is no layer {name} in it")


@contextmanager
def _content(path: Path, archive: tarfile.TarFile, member: tarfile.TarInfo) -> Iterator[Any]:
    file = archive.extractfile(member)
    if file is None:
        raise unreadable(path, f"{member.name} is no file")
    with file:
        yield file


def _add(archive: tarfile.TarFile, name: str, content: bytes) -> None:
    entry = tarfile.TarInfo(name)
    entry.size = len(content)
    archive.addfile(entry, io.BytesIO(content))


def _json(text: bytes) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _object(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}
