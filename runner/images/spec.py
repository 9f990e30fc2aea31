"""What an image is asked for, and what came of it."""

from dataclasses import dataclass

from runner.matrix.toolchain import Toolchain


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
