"""The pinned versions that an image is built with, and the known architectures."""

from dataclasses import dataclass

# These are Docker's names.
ARCHITECTURES = ("amd64", "arm64")
MIRROR = "http://deb.debian.org/debian"
# Plain HTTP is safe: the index is signed, and every package is compared with the lock's checksum.
SNAPSHOTS = "http://snapshot.debian.org/archive/debian"


@dataclass(frozen=True, kw_only=True)
class Toolchain:
    """The pinned Rust, Python and PyTorch versions that an image is built with.

    ``suite`` is the Debian suite of the packages. ``base`` is the digest of an image to start from, instead of a
    bootstrap from the suite's packages. ``snapshot`` is a moment (20261101T000000Z): ``archive`` then serves the
    packages of that moment, instead of the mirror's newest.
    """

    name: str
    suite: str
    rust: str
    python: str
    pytorch: str
    base: str | None = None
    snapshot: str | None = None
    archive: str | None = None

    @property
    def mirror(self) -> str:
        """The address that packages come from."""
        return MIRROR if self.snapshot is None else self.archive_of(self.snapshot)

    def archive_of(self, moment: str) -> str:
        """The address of the packages that were served at ``moment``."""
        return f"{self.archive or SNAPSHOTS}/{moment}"
