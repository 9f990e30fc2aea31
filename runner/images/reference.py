"""An image that a user names: by digest, as an archive of ``docker save``, or by its place in a registry.

Its config digest and labels are read first, so that a wrong image is refused before a gigabyte is transferred.
"""

import json
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from runner.daemon.docker_command import docker
from runner.daemon.unavailable import is_connection_trouble, unavailable
from runner.images.archive import ArchivedImage, images_in, unreadable, write_alone
from runner.images.inspected import REGISTRY, manifest_digest_of
from runner.images.labels import EXECUTION_HASH_LABEL, IDENTITY_LABEL, TARGET_LABEL
from runner.records.image import ImageFacts
from runner.system.errors import ImageNotFound
from runner.system.scratch import scratch_directory
from runner.system.space import is_full, no_space

_DIGEST = re.compile(r"sha256:[0-9a-f]{64}\Z")
_REFERENCE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:/@-]*\Z")


@dataclass(frozen=True, kw_only=True)
class Candidate:
    """An image that may be the named one. The daemon need not have it yet.

    ``facts.config_digest`` is that of the image's own configuration. ``pull`` is the reference to pull it by. It
    holds the image's digest and not its index's, because a daemon keeps one image for each digest, of any
    architecture. ``archive`` is the file to load it from. With neither the daemon has it already.
    """

    facts: ImageFacts
    where: str
    pull: str | None = None
    archive: Path | None = None


def candidates(asked: str, architectures: Iterable[str]) -> tuple[Candidate, ...]:
    """The images that ``asked`` names: one for each architecture where it names an index.

    Args:
        asked: a config digest ``sha256:…``, the path of a docker-archive, a name that the daemon knows, or
            ``registry/repository`` with ``:tag`` or ``@sha256:…``.
        architectures: the wanted architectures.

    Raises:
        ImageNotFound: there is no such image, or its registry does not answer.
    """
    if _DIGEST.match(asked):
        inspected = inspect(asked)
        if inspected is None:
            raise ImageNotFound(
                what=f"the daemon has no image {asked}",
                why="a digest without a registry names an image that is here already",
                fix="name the archive or the registry that holds it: --image FILE, --image REGISTRY/REPOSITORY@sha256:…",
            )
        return (_local(inspected, asked),)
    if Path(asked).is_file():
        return tuple(_in_archive(Path(asked)))
    if not _REFERENCE.match(asked):
        raise ImageNotFound(
            what=f"there is no image {asked}",
            why="it is neither a file nor what an image can be called",
            fix="give a digest sha256:…, an archive of docker save, or REGISTRY/REPOSITORY@sha256:…",
        )
    if not REGISTRY.match(asked):
        inspected = inspect(asked)
        if inspected is not None:
            return (_local(inspected, asked),)
    return tuple(_in_registry(asked, frozenset(architectures)))


def obtain(candidate: Candidate) -> ImageFacts:
    """Pull or load the image into the daemon; return its facts, with the digest by which the daemon starts it.

    Raises:
        ImageNotFound: it could not be pulled or loaded.
    """
    facts = candidate.facts
    here = inspect(facts.config_digest) if facts.config_digest else None
    if here is None and candidate.pull is not None:
        here = _pull(candidate.pull, facts.architecture)
        _require_announced(here, candidate)
    elif here is None and candidate.archive is not None and facts.config_digest:
        here = _load(candidate.archive, facts.config_digest)
    if here is None:
        raise ImageNotFound(
            what=f"the image of {candidate.where} did not arrive",
            why=f"the daemon has nothing with the digest {facts.config_digest}",
            fix="see its images with docker image ls --digests, and run again",
        )
    return facts_of(here)


def _require_announced(here: Mapping[str, Any] | None, candidate: Candidate) -> None:
    """See that what was pulled is what was asked about before: a registry may answer twice differently.

    Raises:
        ImageNotFound: it is another image.
    """
    facts = candidate.facts
    if here is not None and here["Id"] not in (facts.config_digest, facts.manifest_digest):
        raise ImageNotFound(
            what=f"the image of {candidate.where} is not the one that arrived",
            why=f"its registry announced {facts.config_digest} and served {here['Id']}",
            fix="name it by its digest, REGISTRY/REPOSITORY@sha256:…, and take it from a registry that you trust",
        )


def inspect(reference: str) -> dict[str, Any] | None:
    """The daemon's facts about one image, by any of its names, or None."""
    result = docker("image", "inspect", reference)
    if result.returncode != 0 and is_connection_trouble(result.stderr):
        raise unavailable(result.stderr)
    found = _json(result.stdout or "[]")
    return found[0] if isinstance(found, list) and found else None


def with_label(name: str, value: str) -> dict[str, Any] | None:
    """The newest image in the daemon with this label, or None."""
    listing = docker("image", "ls", "--no-trunc", "--quiet", "--filter", f"label={name}={value}")
    first = next(iter(listing.stdout.split()), None)
    return inspect(first) if first else None


def facts_of(inspected: Mapping[str, Any]) -> ImageFacts:
    """The facts of an image as ``docker image inspect`` tells them."""
    return _facts(
        (inspected.get("Config") or {}).get("Labels"),
        architecture=str(inspected.get("Architecture")),
        config_digest=str(inspected["Id"]),
        manifest_digest=manifest_digest_of(inspected),
    )


def _facts(
    labels: Mapping[str, str] | None, *, architecture: str, config_digest: str, manifest_digest: str | None
) -> ImageFacts:
    labels = labels or {}
    return ImageFacts(
        target=labels.get(TARGET_LABEL, "unknown"),
        architecture=architecture,
        identity=labels.get(IDENTITY_LABEL),
        # An image without the label matches no other.
        execution_hash=labels.get(EXECUTION_HASH_LABEL, config_digest),
        config_digest=config_digest,
        manifest_digest=manifest_digest,
    )


def _local(inspected: Mapping[str, Any], asked: str) -> Candidate:
    return Candidate(facts=facts_of(inspected), where=asked)


# --- archives -------------------------------------------------------------------------------------------------------


def _in_archive(path: Path) -> Iterator[Candidate]:
    for image in images_in(path):
        yield Candidate(
            facts=_facts(
                image.labels,
                architecture=str(image.configuration.get("architecture")),
                config_digest=image.digest,
                manifest_digest=None,
            ),
            where=str(path),
            archive=path,
        )


def save(digests: Iterable[str], into: Path) -> None:
    """Write images of the daemon as one archive, without names, to ``into``.

    Raises:
        NoSpace: the disk is full.
        ImageNotFound: the daemon does not write them.
    """
    wanted = sorted(set(digests))
    result = docker("save", "--output", str(into), *wanted)
    if result.returncode != 0:
        said = " ".join(result.stderr.split())[-300:]
        if is_connection_trouble(result.stderr):
            raise unavailable(result.stderr)
        if is_full(result.stderr):
            raise no_space("saving images failed", said)
        raise ImageNotFound(
            what="the daemon does not save these images",
            why=said,
            fix=f"see what it says itself: docker save --output FILE {' '.join(wanted)}",
        )


def _load(path: Path, digest: str) -> dict[str, Any] | None:
    """Load one image of an archive, under a name of our own alone: without one it would be swept away."""
    name = f"forge-bench:verify-{digest.partition(':')[2][:12]}"
    with scratch_directory("archive") as scratch:
        image = write_alone(path, digest, name=name, into=scratch / "image.tar")
        result = docker("load", "--quiet", "--input", str(scratch / "image.tar"))
    if result.returncode != 0:
        if is_full(result.stderr):
            raise no_space(f"loading {path} failed", " ".join(result.stderr.split())[-300:])
        raise unreadable(path, f"docker load: {' '.join(result.stderr.split())[-300:]}")
    inspected = inspect(name)
    return inspected if inspected is not None and is_it(inspected, image) else None


def is_it(inspected: Mapping[str, Any], image: ArchivedImage) -> bool:
    """Whether an image of the daemon is one of an archive.

    By the digest; by each layer's where the daemon's store goes by manifests instead. No label counts.
    """
    layers = (inspected.get("RootFS") or {}).get("Layers")
    return inspected["Id"] == image.digest or (bool(layers) and layers == image.layer_hashes)


# --- registries -----------------------------------------------------------------------------------------------------


def _in_registry(reference: str, architectures: frozenset[str]) -> Iterator[Candidate]:
    if "@" not in reference:
        # A name may be given to another image between two questions: all that follow go by the digest.
        digest = str(_ask(reference, "--format", "{{json .Manifest}}").get("digest"))
        if not _DIGEST.match(digest):
            raise _no_answer(reference, "its registry tells no digest")
        reference = f"{_repository(reference)}@{digest}"
    manifest = _ask(reference, "--raw")
    if "manifests" not in manifest:
        yield _of_manifest(reference, manifest)
        return
    repository = _repository(reference)
    offered = {}
    for entry in manifest["manifests"]:
        platform = entry.get("platform") or {}
        if platform.get("os") == "linux":
            offered[str(platform.get("architecture"))] = str(entry["digest"])
    wanted = architectures & offered.keys()
    if not wanted:
        raise ImageNotFound(
            what=f"{reference} has no image for {' or '.join(sorted(architectures))}",
            why=f"its index offers {', '.join(sorted(offered)) or 'nothing for Linux'}",
            fix="name the reference that holds the record's architecture",
        )
    for architecture in sorted(wanted):
        own = f"{repository}@{offered[architecture]}"
        yield _of_manifest(own, _ask(own, "--raw"))


def _of_manifest(reference: str, manifest: Mapping[str, Any]) -> Candidate:
    digest = str((manifest.get("config") or {}).get("digest"))
    configuration = _ask(reference, "--format", "{{json .Image}}")
    if not _DIGEST.match(digest):
        raise _no_answer(reference, "what it holds is no image manifest")
    own = reference.partition("@")[2]
    return Candidate(
        facts=_facts(
            (configuration.get("config") or {}).get("Labels"),
            architecture=str(configuration.get("architecture")),
            config_digest=digest,
            manifest_digest=own or None,
        ),
        where=reference,
        pull=reference,
    )


def _ask(reference: str, *how: str) -> dict[str, Any]:
    """Buildx asks with the user's credentials, and uses plain HTTP only on loopback."""
    result = docker("buildx", "imagetools", "inspect", *how, reference, timeout=120)
    found = _json(result.stdout) if result.returncode == 0 else None
    if not isinstance(found, dict):
        raise _no_answer(reference, " ".join(result.stderr.split())[-300:] or "its answer is not JSON")
    return found


def _pull(reference: str, architecture: str) -> dict[str, Any] | None:
    result = docker("pull", "--quiet", "--platform", f"linux/{architecture}", reference)
    if result.returncode != 0:
        if is_connection_trouble(result.stderr):
            raise unavailable(result.stderr)
        raise _no_answer(reference, " ".join(result.stderr.split())[-300:])
    return inspect(reference)


def _repository(reference: str) -> str:
    """The reference without its tag or digest; a port is no tag."""
    name = reference.partition("@")[0]
    head, _, last = name.rpartition("/")
    return f"{head}/{last.partition(':')[0]}" if head else last.partition(":")[0]


def _no_answer(reference: str, why: str) -> ImageNotFound:
    return ImageNotFound(
        what=f"there is no image {reference} to be had",
        why=why,
        fix="see that the name is right and that you are logged in where it lies: docker pull "
        + shlex.quote(reference),
    )


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None
