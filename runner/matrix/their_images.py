"""The ``images`` of a matrix: their faults, and the targets that they become."""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from runner.matrix.faults import Fault
from runner.matrix.images import OURS, ImageTarget, TheirDockerfile, TheirImage

_Image = Mapping[str, Any]
_FaultAt = Callable[..., Fault]


def image_faults(images: Mapping[str, _Image], fault: _FaultAt, folder: Path | None) -> Iterator[Fault]:
    """The checks of ``images`` that a schema cannot express.

    Args:
        images: the entries that the schema allows.
        fault: makes a fault from a path below ``images`` and a message.
        folder: the matrix's own folder, in which files must exist; None where no image is built.
    """
    for name, image in images.items():
        if name in OURS:
            yield fault(name, message="forge-bench has an image of this name already; choose another")
        kinds = [key for key in ("dockerfile", "reference") if key in image]
        if len(kinds) != 1:
            said = "both stand here" if kinds else "neither stands here"
            yield fault(name, message=f"an image needs either a dockerfile or a reference; {said}")
        if "context" in image and "dockerfile" not in image:
            yield fault(name, "context", message="only a dockerfile has a context; drop this")
        if kinds == ["dockerfile"] and folder is not None:
            yield from _file_faults(name, image, fault, folder)


def targets_of(images: Mapping[str, _Image], folder: Path) -> dict[str, ImageTarget]:
    """The targets that faultless ``images`` become, by name."""
    return {
        name: ImageTarget(
            name=name,
            source=TheirImage(reference=image["reference"])
            if "reference" in image
            else _dockerfile(image, folder),
            versions=tuple(image["versions"]) if "versions" in image else None,
        )
        for name, image in images.items()
    }


def _dockerfile(image: _Image, folder: Path) -> TheirDockerfile:
    dockerfile = folder / image["dockerfile"]
    context = folder / image["context"] if "context" in image else dockerfile.parent
    return TheirDockerfile(dockerfile=dockerfile, context=context)


def _file_faults(name: str, image: _Image, fault: _FaultAt, folder: Path) -> Iterator[Fault]:
    source = _dockerfile(image, folder)
    if not _is_below(source.dockerfile, folder):
        yield fault(
            name,
            "dockerfile",
            message="this leads out of the folder of the matrix; move the file into that folder",
        )
    elif not _answers(source.dockerfile.is_file):
        yield fault(name, "dockerfile", message=f"there is no file {source.dockerfile} that can be read")
    elif not _is_below(source.context, folder):
        # In the matrix's own folder, the matrix and all results would be part of the image's identity.
        place = "context" if "context" in image else "dockerfile"
        yield fault(name, place, message="a build needs a folder of its own, below that of the matrix")
    elif not _answers(source.context.is_dir):
        yield fault(name, "context", message=f"there is no folder {source.context}")


def _is_below(path: Path, folder: Path) -> bool:
    """Whether ``path`` lies in ``folder``, links followed, and is not ``folder`` itself."""
    try:
        return folder.resolve() in path.resolve().parents
    except (OSError, RuntimeError, ValueError):
        return False


def _answers(question: Callable[[], bool]) -> bool:
    try:
        return question()
    except OSError:
        return False
