"""Image targets: the table of our own targets, and the type that a matrix's targets share.

The row of a target holds all that distinguishes it. No other module knows a target by its name.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType


@dataclass(frozen=True, kw_only=True)
class Stage:
    """The stage of docker/Dockerfile that has the target's name.

    ``packages`` are the kinds of package locks that it installs, ``builders`` those of what builds it.
    """

    packages: tuple[str, ...]
    builders: tuple[str, ...] = ("tools",)


@dataclass(frozen=True, kw_only=True)
class TheirDockerfile:
    """A competitor's Dockerfile, and the folder whose files its build may copy."""

    dockerfile: Path
    context: Path


@dataclass(frozen=True, kw_only=True)
class TheirImage:
    """A competitor's image in a registry: ``REPOSITORY@sha256:…``."""

    reference: str


@dataclass(frozen=True, kw_only=True)
class ImageTarget:
    """A kind of image that implementations ask for by ``name``.

    Attributes:
        name: what the matrix, records and tags call it.
        source: what the image is built from; None for a target that only a record names, whose image is given and
            never built.
        versions: the command that prints the versions inside it as JSON; None where there is no such command.
        pins: the name of the toolchain's pin for each version that the image prints.
        executable_tmp: whether a launch may execute what it writes to /tmp, as a compiler's caller does.
    """

    name: str
    source: Stage | TheirDockerfile | TheirImage | None
    versions: tuple[str, ...] | None = None
    pins: tuple[tuple[str, str], ...] = ()
    executable_tmp: bool = False

    @property
    def packages(self) -> tuple[str, ...]:
        """The kinds of package locks that the image installs; none for a competitor's image."""
        return self.source.packages if isinstance(self.source, Stage) else ()

    @property
    def builders(self) -> tuple[str, ...]:
        """The kinds of package locks of what builds the image; none for a competitor's image."""
        return self.source.builders if isinstance(self.source, Stage) else ()


def _with_python(
    name: str, *more_packages: str, more_builders: tuple[str, ...] = (), executable_tmp: bool = False
) -> ImageTarget:
    return ImageTarget(
        name=name,
        source=Stage(packages=("image", *more_packages), builders=("tools", *more_builders)),
        versions=("python3", "-m", "baselines.versions"),
        pins=(("rust", "rust"), ("python", "python"), ("pytorch", "pytorch")),
        executable_tmp=executable_tmp,
    )


# This image makes the inputs and runs the references, even where an implementation uses another image.
CORE = _with_python("core")

OURS: Mapping[str, ImageTarget] = MappingProxyType(
    {
        target.name: target
        for target in (
            CORE,
            # The training in RLtools is compiled from C++.
            _with_python("peers", more_builders=("cpp",)),
            _with_python("backends"),
            # mimalloc and jemalloc are compiled from C, one of them by make.
            _with_python("allocators", more_builders=("cpp",)),
            # torch.compile calls g++ and loads the compiled file.
            _with_python("compile", "compile", executable_tmp=True),
            # This image holds one static program, and no Python.
            ImageTarget(
                name="edge",
                source=Stage(packages=()),
                versions=("torchforge", "version"),
                pins=(("rustc", "rust"),),
            ),
        )
    }
)
