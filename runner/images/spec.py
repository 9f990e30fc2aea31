"""What an image is asked for, and what came of it."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Toolchain:
    """The pinned Rust, Python and PyTorch versions that an image is built with.

    ``suite`` is the Debian suite that serves the packages; ``base`` an image by digest to start from
    instead of a bootstrap from that suite's packages.
    """

    name: str
    suite: str
    rust: str
    python: str
    pytorch: str
    base: str | None = None


@dataclass(frozen=True, kw_only=True)
class ImageSpec:
    """One image to build. ``target`` is core or peers; ``architecture`` is Docker's name: amd64 or arm64."""

    target: str
    architecture: str
    toolchain: Toolchain

    @property
    def tag(self) -> str:
        """The image's own name."""
        return f"forge-bench:{self.target}-{self.toolchain.name}-{self.architecture}"


@dataclass(frozen=True, kw_only=True)
class Image:
    """An image that is there. ``built_seconds`` is None where nothing was to be done."""

    spec: ImageSpec
    config_digest: str
    manifest_digest: str | None
    identity: str
    execution_hash: str
    built_seconds: float | None
