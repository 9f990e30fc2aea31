"""Write a bundle: sorted, without times and owners, so that the same results and images give the same bytes."""

import hashlib
import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

import msgspec

from runner.bundles.contents import (
    FACTS,
    MANIFEST,
    README,
    SUMS,
    BundledImage,
    BundleFacts,
    explained,
    sums_of,
)
from runner.images.archive import ArchivedImage, images_in, layers_of, small_files
from runner.system.bounded_archive import MOST_ENTRIES
from runner.system.errors import UsageError
from runner.system.files import writing_errors
from runner.system.plain_tar import Piece, packed, write_end, write_member

_BILL = "opt/forge-bench/sbom.json"
# The notices of crates, those of Debian's packages, and our own.
_LICENCES = re.compile(r"opt/forge-bench/(LICENSE|licenses/.+)|usr/share/doc/[^/]+/copyright")
_BRIEF = 12

Content = bytes | Piece


@dataclass(frozen=True, kw_only=True)
class SavedImages:
    """The archive that a daemon saved, and what is known of each image in it, by its config digest."""

    archive: Path
    known: Mapping[str, BundledImage]


def write_bundle(
    target: Path, *, name: str, records: int, files: Mapping[str, Content], images: SavedImages | None
) -> str:
    """Write the bundle ``target``; return its SHA-256.

    Args:
        target: a file that is not there yet.
        name: of the results.
        records: how many records they hold.
        files: the other files of the bundle, by their names in it.
        images: the images; None where the results were made in none.

    Raises:
        UsageError: there are more or larger files than a bundle can hold.
        ImageNotFound: the archive does not hold what it should.
        NoSpace, StoreError: it cannot be written.
    """
    contents: dict[str, Content] = {**files, README: explained(name).encode()}
    if images is not None:
        contents |= _image_files(images)
    facts = BundleFacts(
        format=1,
        name=name,
        records=records,
        images=tuple(each for _, each in sorted(images.known.items())) if images else (),
    )
    contents[FACTS] = msgspec.json.format(msgspec.json.encode(facts), indent=1) + b"\n"
    if len(contents) >= MOST_ENTRIES:
        raise _too_much(f"it would hold {len(contents)} files, and a bundle holds fewer than {MOST_ENTRIES}")
    part = target.parent / f".{target.name[:100]}-{uuid4().hex}"
    with writing_errors(target):
        try:
            _write(part, contents)
            digest = Piece.whole(part).sha256()
            part.replace(target)
        except ValueError as error:
            raise _too_much(str(error)) from error
        finally:
            part.unlink(missing_ok=True)
    return digest


def _write(part: Path, contents: Mapping[str, Content]) -> None:
    sums = sums_of({name: _sha256(content) for name, content in contents.items()})
    with part.open("xb") as archive:
        write_member(archive, SUMS, sums)
        for name, content in sorted(contents.items()):
            write_member(archive, name, content)
        write_end(archive)
        archive.flush()
        os.fsync(archive.fileno())


def _image_files(images: SavedImages) -> dict[str, Content]:
    """The files by which ``docker load`` knows the images, and what each image says of its licences."""
    found: dict[str, Content] = {}
    manifest: list[dict[str, object]] = []
    for image in sorted(images_in(images.archive), key=lambda each: each.digest):
        if image.digest not in images.known:
            continue
        names = []
        for layer in layers_of(images.archive, image):
            names.append(f"layers/{layer.sha256()}")
            found[names[-1]] = layer
        configuration = f"{_hexadecimal(image.digest)}.json"
        found[configuration] = image.text
        manifest.append({"Config": configuration, "RepoTags": None, "Layers": names})
        found |= _described(images.archive, image, images.known[image.digest])
    found[MANIFEST] = json.dumps(manifest, indent=1).encode() + b"\n"
    return found


def _described(archive: Path, image: ArchivedImage, known: BundledImage) -> dict[str, bytes]:
    """The bill of materials and the licences of an image, where it has them."""
    inside = small_files(archive, image, re.compile(f"{_BILL}|{_LICENCES.pattern}"))
    facts = known.stands_for[0]
    name = f"{facts.target}-{facts.architecture}-{_hexadecimal(image.digest)[:_BRIEF]}"
    bill = inside.pop(_BILL, None)
    found = {f"licences/{name}.tar": packed(inside)} if inside else {}
    return found if bill is None else {**found, f"sbom/{name}.json": bill}


def _sha256(content: Content) -> str:
    return hashlib.sha256(content).hexdigest() if isinstance(content, bytes) else content.sha256()


def _hexadecimal(digest: str) -> str:
    return digest.partition(":")[2]


def _too_much(why: str) -> UsageError:
    return UsageError(
        what="these results do not fit into a bundle",
        why=why,
        fix="publish them first: a publication holds all records in one file",
    )
