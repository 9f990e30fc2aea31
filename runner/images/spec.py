"""What an image is asked for, and what came of it."""

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


@dataclass(frozen=True, kw_only=True)
class ImageSpec:
    """One image to build.

    ``target`` is core, peers, edge, compile or backends; ``architecture`` is Docker's name: amd64 or arm64.
    """

    target: str
    architecture: str
    toolchain: Toolchain

    @property
    def tag(self) -> str:
        """The image's own name."""
        return f"forge-bench:{self.target}-{self.toolchain.name}-{self.architecture}"

    @property
    def packages(self) -> tuple[str, ...]:
        """The kinds of the locks whose packages are in it. An edge image has none."""
        match self.target:
            case "edge":
                return ()
            case "compile":
                return ("image", "compile")
            case _:
                return ("image",)


@dataclass(frozen=True, kw_only=True)
class Image:
    """An image that is there. ``built_seconds`` is None where nothing was to be done."""

    spec: ImageSpec
    config_digest: str
    manifest_digest: str | None
    identity: str
    execution_hash: str
    built_seconds: float | None
