"""Images that a release pushed: known by their identity, and pulled by the digests that the checkout holds.

The digest is what is trusted: Docker compares each byte that arrives with it. The labels only say which image it is.
"""

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

import msgspec

from runner.images.identity import Identity
from runner.images.reference import candidates, obtain
from runner.images.spec import ImageSpec
from runner.records.image import ImageFacts
from runner.records.part import Digest, Hash, Part
from runner.system.bounded_reading import read_bounded
from runner.system.errors import DockerUnavailable, ImageNotFound
from runner.system.files import write_atomically

FILE = "images.json"
_LARGEST = 2**20


class Released(Part, frozen=True, kw_only=True):
    """An image of a release. ``digest`` is its manifest's, in any registry that has it."""

    target: str
    architecture: str
    identity: Hash
    digest: Digest


def read_released(root: Path) -> Mapping[str, Released]:
    """The images that the checkout's file names, by identity. None where there is no such file.

    Raises:
        ImageNotFound: the file is not what `write_released` writes.
    """
    path = root / FILE
    if not path.exists():
        return {}
    try:
        images = msgspec.json.decode(read_bounded(path, _LARGEST), type=list[Released])
    except (OSError, msgspec.MsgspecError, RecursionError) as error:
        raise ImageNotFound(
            what=f"{path} names no images",
            why=str(error),
            fix=f"take the committed file again: git checkout -- {FILE}",
        ) from error
    return {each.identity: each for each in images}


def write_released(root: Path, images: Iterable[Released]) -> Path:
    """Write the file of the checkout anew; returns its path."""
    path = root / FILE
    ordered = sorted(images, key=lambda each: (each.target, each.architecture, each.identity))
    write_atomically(path, msgspec.json.format(msgspec.json.encode(ordered), indent=2).decode() + "\n")
    return path


def pull_released(
    spec: ImageSpec, identity: Identity, *, root: Path, registry: str, say: Callable[[str], None]
) -> str | None:
    """Pull the image of exactly this identity; returns the digest by which the daemon knows it.

    Args:
        spec: the image.
        identity: its identity, by the files of the checkout.
        root: the checkout, whose file names digests.
        registry: the repository in a registry that may have it.
        say: takes the line that says what was done, or why the image has to be built.

    Returns:
        None where it has to be built.
    """
    try:
        released = read_released(root).get(identity.identity)
        if released is None:
            say(f"{spec.tag} will be built: {FILE} names no image of exactly these files")
            return None
        reference = f"{registry}@{released.digest}"
        say(f"pulling {reference} for {spec.tag}")
        for candidate in candidates(reference, [spec.architecture]):
            _require(candidate.facts, spec, identity, reference)
            facts = obtain(candidate)
            _require(facts, spec, identity, reference)
            return facts.config_digest
    except (ImageNotFound, DockerUnavailable) as error:
        # Without a daemon the build says so itself. A registry that never answers looks the same.
        say(f"{spec.tag} will be built: {error.what}: {error.why}")
    return None


def _require(facts: ImageFacts, spec: ImageSpec, identity: Identity, reference: str) -> None:
    """See that an image is the wanted one, before it is transferred and after.

    Raises:
        ImageNotFound: it is another.
    """
    wanted = (identity.identity, identity.execution_hash, spec.architecture)
    if (facts.identity, facts.execution_hash, facts.architecture) != wanted:
        raise ImageNotFound(
            what=f"{reference} is refused",
            why=f"it is {facts.target} {facts.architecture} of the identity {_short(facts.identity)}, "
            f"not {spec.target.name} {spec.architecture} of {_short(identity.identity)}",
            fix=f"write {FILE} again from what was pushed: python -m tools.released_images",
        )


def _short(identity: str | None) -> str:
    return (identity or "none")[:12]
