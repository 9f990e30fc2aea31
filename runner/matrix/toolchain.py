"""The pinned versions that an image is built with, and the architectures that there are."""

from dataclasses import dataclass

# By the names that Docker has for them.
ARCHITECTURES = ("amd64", "arm64")
MIRROR = "http://deb.debian.org/debian"
# Plain HTTP both: the index is signed, and every package is compared with the lock's checksum.
SNAPSHOTS = "http://snapshot.debian.org/archive/debian"


@dataclass(frozen=True, kw_only=True)
class Toolchain:
    """The pinned Rust, Python and PyTorch versions that an image is built with.

    ``suite`` is the Debian suite that serves the packages; ``base`` an image by digest to start from
    instead of a bootstrap from that suite's packages. ``snapshot`` is the moment (20261101T000000Z) whose
    packages are taken, from ``archive``, instead of those that the mirror serves today.
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
        """Where packages come from."""
        return MIRROR if self.snapshot is None else self.archive_of(self.snapshot)

    def archive_of(self, moment: str) -> str:
        """Where the packages lie that were served at ``moment``."""
        return f"{self.archive or SNAPSHOTS}/{moment}"
