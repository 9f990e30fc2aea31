"""An image that a user names: by digest, as an archive of ``docker save``, or by its place in a registry.

Its config digest and labels are read first, so that a wrong image is refused before a gigabyte is transferred.
"""

import hashlib
import json
import lzma
import re
import shlex
import tarfile
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from runner.daemon.docker_command import docker, inspect_images
from runner.daemon.unavailable import is_connection_trouble, unavailable
from runner.images.build import REGISTRY, manifest_digest_of
from runner.images.labels import EXECUTION_HASH_LABEL, IDENTITY_LABEL, TARGET_LABEL
from runner.records.image import ImageFacts
from runner.system.bounded_archive import BoundedTarInfo
from runner.system.errors import ImageNotFound

_DIGEST = re.compile(r"sha256:[0-9a-f]{64}\Z")
_REFERENCE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:/@-]*\Z")
_LARGEST_JSON = 2**24


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
        found = inspect(asked)
        if found is None:
            raise ImageNotFound(
                what=f"the daemon has no image {asked}",
                why="a digest without a registry names an image that is here already",
                fix="name the archive or the registry that holds it: --image FILE, --image REGISTRY/REPOSITORY@sha256:…",
            )
        return (_local(found, asked),)
    if Path(asked).is_file():
        return tuple(_in_archive(Path(asked)))
    if not _REFERENCE.match(asked):
        raise ImageNotFound(
            what=f"there is no image {asked}",
            why="it is neither a file nor what an image can be called",
            fix="give a digest sha256:…, an archive of docker save, or REGISTRY/REPOSITORY@sha256:…",
        )
    if not REGISTRY.match(asked):
        found = inspect(asked)
        if found is not None:
            return (_local(found, asked),)
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
    elif here is None and candidate.archive is not None:
        here = _load(candidate.archive, facts)
    if here is None:
        raise ImageNotFound(
            what=f"the image of {candidate.where} did not arrive",
            why=f"the daemon has nothing with the digest {facts.config_digest}",
            fix="see its images with docker image ls --digests, and run again",
        )
    return facts_of(here)


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


def facts_of(found: Mapping[str, Any]) -> ImageFacts:
    """The facts of an image as ``docker image inspect`` tells them."""
    return _facts(
        (found.get("Config") or {}).get("Labels"),
        architecture=str(found.get("Architecture")),
        config_digest=str(found["Id"]),
        manifest_digest=manifest_digest_of(found),
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


def _local(found: Mapping[str, Any], asked: str) -> Candidate:
    return Candidate(facts=facts_of(found), where=asked)


# --- archives -------------------------------------------------------------------------------------------------------


def _in_archive(path: Path) -> Iterator[Candidate]:
    with _archive(path) as archive:
        for entry in _manifest(path, archive):
            text = _member(path, archive, str(entry["Config"]))
            configuration = _json(text.decode("utf-8", errors="replace"))
            if not isinstance(configuration, dict):
                raise _unreadable(path, f"{entry['Config']} is no image configuration")
            yield Candidate(
                facts=_facts(
                    (configuration.get("config") or {}).get("Labels"),
                    architecture=str(configuration.get("architecture")),
                    # The digest is computed here, because a name inside an archive proves nothing.
                    config_digest=f"sha256:{hashlib.sha256(text).hexdigest()}",
                    manifest_digest=None,
                ),
                where=str(path),
                archive=path,
            )


@contextmanager
def _archive(path: Path) -> Iterator[tarfile.TarFile]:
    try:
        with tarfile.open(path, tarinfo=BoundedTarInfo) as archive:
            yield archive
    except (OSError, EOFError, tarfile.TarError, zlib.error, lzma.LZMAError) as error:
        raise _unreadable(path, str(error)) from error


def _manifest(path: Path, archive: tarfile.TarFile) -> list[dict[str, Any]]:
    found = _json(_member(path, archive, "manifest.json").decode("utf-8", errors="replace"))
    if not isinstance(found, list) or not all(
        isinstance(each, dict) and isinstance(each.get("Config"), str) for each in found
    ):
        raise _unreadable(path, "its manifest.json is not that of docker save")
    return found


def _member(path: Path, archive: tarfile.TarFile, name: str) -> bytes:
    try:
        file = archive.extractfile(name)
    except (KeyError, RecursionError) as error:
        raise _unreadable(path, f"there is no {name} in it") from error
    content = file.read(_LARGEST_JSON + 1) if file is not None else b""
    if not content or len(content) > _LARGEST_JSON:
        raise _unreadable(path, f"its {name} is empty or too large")
    return content


def _load(path: Path, facts: ImageFacts) -> dict[str, Any] | None:
    """Load the archive, and give every name that it took back to the former image."""
    with _archive(path) as archive:
        tags = [tag for entry in _manifest(path, archive) for tag in entry.get("RepoTags") or []]
    before = {tag: str(image["Id"]) for tag, image in (inspect_images(tags) if tags else {}).items()}
    result = docker("load", "--quiet", "--input", str(path.resolve()))
    if result.returncode != 0:
        raise _unreadable(path, f"docker load: {' '.join(result.stderr.split())[-300:]}")
    loaded = [line.partition(": ")[2].strip() for line in result.stdout.splitlines() if ": " in line]
    found = None
    for reference in [facts.config_digest or "", *loaded]:
        image = inspect(reference) if reference else None
        if image is not None and _same(facts_of(image), facts):
            found = image
            break
    if found is not None:
        # The image gets a name, because docker image prune removes unnamed images.
        docker("tag", str(found["Id"]), f"forge-bench:verify-{str(found['Id']).partition(':')[2][:12]}")
    for tag, image_id in before.items():
        docker("tag", image_id, tag)
    return found


def _same(one: ImageFacts, other: ImageFacts) -> bool:
    """The image by its digest, or by its labels where the daemon's store uses manifest digests."""
    if one.config_digest == other.config_digest:
        return True
    return one.identity is not None and (one.identity, one.target) == (other.identity, other.target)


def _unreadable(path: Path, why: str) -> ImageNotFound:
    return ImageNotFound(
        what=f"{path} is not an archive of docker save that can be read",
        why=why,
        fix="write it again where the image is: docker save --output FILE IMAGE",
    )


# --- registries -----------------------------------------------------------------------------------------------------


def _in_registry(reference: str, architectures: frozenset[str]) -> Iterator[Candidate]:
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
