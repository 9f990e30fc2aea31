"""What lies where in a bundle. The file is also an archive of ``docker save``: ``docker load --input FILE`` reads it.

SHA256SUMS                    the SHA-256 of every other file, as ``sha256sum --check`` reads it; it comes first
README.md                     how the bundle is checked and run again
bundle.json                   which results and which images these are
matrix.yaml                   the matrix that was run, where the results have one
results/…                     the publication or the results directory: records, ledger, pages
sbom/TARGET-ARCH-HASH.json    the bill of materials of an image
licences/TARGET-ARCH-HASH.tar its licences
manifest.json                 the images as docker load reads them; none has a name there, so no tag moves
HASH.json                     the configuration of an image, by its SHA-256
layers/HASH                   a layer, by the SHA-256 of its bytes; images that share it have it once
"""

from typing import Literal

from runner.records.image import ImageFacts
from runner.records.part import Digest, Part

SUMS = "SHA256SUMS"
README = "README.md"
FACTS = "bundle.json"
MATRIX = "matrix.yaml"
RESULTS = "results"
MANIFEST = "manifest.json"


class BundledImage(Part, frozen=True, kw_only=True):
    """An image of a bundle: the digest of its configuration, and how close it is to each image that records name."""

    config_digest: Digest
    stands_for: tuple[ImageFacts, ...]
    likeness: tuple[str, ...]


class BundleFacts(Part, frozen=True, kw_only=True):
    """bundle.json. ``format`` is 1 as long as a reader of today can read it."""

    format: Literal[1]
    name: str
    records: int
    images: tuple[BundledImage, ...]


def sums_of(hashes: dict[str, str]) -> bytes:
    """The content of SHA256SUMS, sorted by name."""
    return "".join(f"{value}  {name}\n" for name, value in sorted(hashes.items())).encode()


def explained(name: str) -> str:
    """README.md."""
    return f"""# {name}

This file holds results of forge-bench, the images that they were made in, and the licences of these images.

    sha256sum --check {SUMS}                      # in the unpacked folder: every file is as it was written
    python -m runner verify --bundle FILE          # in a checkout of forge-bench: check all of it and run it again
    docker load --input FILE                       # load the images alone, without a name

`{FACTS}` lists the images. `{RESULTS}/` holds records and pages. `sbom/` and `licences/` say what is in the images.
"""
