"""What an image is asked for, and what came of it."""

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
    def tag(self) -> str:
        """The image's own name."""
        return f"forge-bench:{self.target.name}-{self.toolchain.name}-{self.architecture}"


@dataclass(frozen=True, kw_only=True)
class Image:
    """An image that is there. ``built_seconds`` is None where nothing was to be done."""

    spec: ImageSpec
    config_digest: str
    manifest_digest: str | None
    identity: str
    execution_hash: str
    built_seconds: float | None
