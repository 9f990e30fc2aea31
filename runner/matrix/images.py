"""Image targets: a table with a row for each of ours, and the type of those that a matrix describes.

The row of a target holds whatever distinguishes it. No other module knows a target by its name.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType


@dataclass(frozen=True, kw_only=True)
class Stage:
    """The stage of docker/Dockerfile that bears the target's name.

    ``packages`` are the kinds of the locks whose packages are in it.
    """

    packages: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class TheirDockerfile:
    """Somebody else's Dockerfile, and the folder whose files its build may copy."""

    dockerfile: Path
    context: Path


@dataclass(frozen=True, kw_only=True)
class TheirImage:
    """Somebody else's image in a registry: ``REPOSITORY@sha256:…``."""

    reference: str


@dataclass(frozen=True, kw_only=True)
class ImageTarget:
    """A kind of image that implementations ask for by ``name``.

    Attributes:
        name: what the matrix, records and tags call it.
        source: what it is built from; None where a record names it, whose image is given and never built.
        versions: the command that prints the versions inside it as JSON; None where nothing can say them.
        pins: each version that the image prints and a toolchain pins, with the name of that pin.
        executable_tmp: whether a launch may execute what it writes to /tmp, as a compiler's caller does.
    """

    name: str
    source: Stage | TheirDockerfile | TheirImage | None
    versions: tuple[str, ...] | None = None
    pins: tuple[tuple[str, str], ...] = ()
    executable_tmp: bool = False

    @property
    def packages(self) -> tuple[str, ...]:
        """The kinds of the locks whose packages are in it: none are in somebody else's."""
        return self.source.packages if isinstance(self.source, Stage) else ()


def _with_python(name: str, *more_packages: str, executable_tmp: bool = False) -> ImageTarget:
    return ImageTarget(
        name=name,
        source=Stage(packages=("image", *more_packages)),
        versions=("python3", "-m", "baselines.versions"),
        pins=(("rust", "rust"), ("python", "python"), ("pytorch", "pytorch")),
        executable_tmp=executable_tmp,
    )


# Inputs are made and references run in this one, whatever image an implementation asks for.
CORE = _with_python("core")

OURS: Mapping[str, ImageTarget] = MappingProxyType(
    {
        target.name: target
        for target in (
            CORE,
            _with_python("peers"),
            _with_python("backends"),
            # torch.compile calls g++ and loads what that makes.
            _with_python("compile", "compile", executable_tmp=True),
            # One static program, and no Python.
            ImageTarget(
                name="edge",
                source=Stage(packages=()),
                versions=("torchforge", "version"),
                pins=(("rustc", "rust"),),
            ),
        )
    }
)
