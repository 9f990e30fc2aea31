"""A requested image, and the result."""

from dataclasses import dataclass

from runner.matrix.images import ImageTarget
from runner.matrix.toolchain import Toolchain


@dataclass(frozen=True, kw_only=True)
class ImageSpec:
    """One image to build. ``architecture`` is Docker's name: amd64 or arm64."""

    target: ImageTarget
    architecture: str
    toolchain: Toolchain

    @property
    def name(self) -> str:
        """What tells the image from all others of this project."""
        return f"{self.target.name}-{self.toolchain.name}-{self.architecture}"

    @property
    def tag(self) -> str:
        """The image's own name at the daemon."""
        return f"forge-bench:{self.name}"


@dataclass(frozen=True, kw_only=True)
class Image:
    """An existing image. ``built_seconds`` is None where no build was needed."""

    spec: ImageSpec
    config_digest: str
    manifest_digest: str | None
    identity: str
    execution_hash: str
    built_seconds: float | None
