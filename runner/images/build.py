"""Build an image, or find that it exists already."""

import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from runner.daemon.docker_command import builder, docker, inspect_images
from runner.images.base import ensure_base
from runner.images.diagnosis import diagnose
from runner.images.identity import Identity, identify
from runner.images.inspected import identity_of, manifest_digest_of
from runner.images.labels import EXECUTION_HASH_LABEL, IDENTITY_LABEL, TARGET_LABEL
from runner.images.lock import changes, drifted, require_lock
from runner.images.network import network_arguments
from runner.images.released import pull_released
from runner.images.resolve import resolve
from runner.images.spec import Image, ImageSpec
from runner.images.their_build import build_files
from runner.matrix.images import CORE, Stage, TheirDockerfile, TheirImage
from runner.system import machine
from runner.system.errors import (
    EmulationMissing,
    ForgeBenchError,
    ImageBuildFailed,
    PackagesDrifted,
    PinMismatch,
)

_TAIL_LINES = 25
_FOREIGN_BINARY = "exec format error"
_NOT_SERVED = "forge-bench: not served: "


def ensure_image(
    spec: ImageSpec,
    *,
    root: Path,
    log_directory: Path,
    say: Callable[[str], None],
    registry: str | None = None,
    short_names_of: str | None = None,
) -> Image:
    """The image of ``spec``: the daemon's, else a release's where a registry has it, else built.

    Args:
        spec: the image.
        root: the checkout, from whose files ours are built.
        log_directory: where the build's output goes.
        say: takes a line about what is done.
        registry: the repository that releases push to; None where nothing is pulled.
        short_names_of: the toolchain whose images get short names too; None for any.

    Raises:
        PackagesDrifted: the packages are not locked for what is asked, or no longer served as locked.
        PinMismatch: the packages serve other versions than the toolchain pins.
        EmulationMissing: a step of a competitor's build runs a program of another architecture.
        ImageBuildFailed: the build failed for another reason; the message ends in the build's last lines.
    """
    for each in locks_of(spec):
        require_lock(root, spec.toolchain, *each)
    identity = identify(spec, root)
    short = short_names_of in (None, spec.toolchain.name)
    tags = (spec.tag, *(_aliases(spec) if short else ()))
    found = inspect_images(tags)
    if all(identity_of(found.get(tag)) == identity.identity for tag in tags):
        return image_of(spec, identity, found[spec.tag], None)
    if identity_of(found.get(spec.tag)) == identity.identity:
        # Only a short name is missing, or names another image.
        for alias in tags[1:]:
            docker("tag", spec.tag, alias)
        return image_of(spec, identity, found[spec.tag], None)
    pulled = None
    if registry is not None and isinstance(spec.target.source, Stage):
        pulled = pull_released(spec, identity, root=root, registry=registry, say=say)
    if pulled is not None:
        for tag in tags:
            docker("tag", pulled, tag)
        return image_of(spec, identity, inspect_images([spec.tag])[spec.tag], None)
    seconds = _build(
        spec,
        identity,
        root,
        log_directory / f"build-{spec.name}.log",
        say,
        tags=tags,
    )
    return image_of(spec, identity, inspect_images([spec.tag])[spec.tag], seconds)


def is_there(spec: ImageSpec, *, root: Path) -> bool:
    """Whether the daemon has the image of exactly these files."""
    return identity_of(inspect_images([spec.tag]).get(spec.tag)) == identify(spec, root).identity


def locks_of(spec: ImageSpec) -> tuple[tuple[str, str], ...]:
    """The kind and architecture of each lock that a build on this machine reads."""
    return (
        *((kind, spec.architecture) for kind in spec.target.packages),
        *((kind, machine.architecture()) for kind in spec.target.builders),
    )


def build_arguments(spec: ImageSpec, identity: Identity, base: str) -> list[str]:
    """The arguments of ``docker buildx build`` that describe one of our images: pins, names, identity."""
    values = {
        "BASE": base,
        "IMAGE_TARGET": spec.target.name,
        "TOOLCHAIN": spec.toolchain.name,
        "SUITE": spec.toolchain.suite,
        "RUST": spec.toolchain.rust,
        "PYTHON": spec.toolchain.python,
        "PYTORCH": spec.toolchain.pytorch,
        "IDENTITY": identity.identity,
        "EXECUTION_HASH": identity.execution_hash,
    }
    return [word for name, value in values.items() for word in ("--build-arg", f"{name}={value}")]


def their_arguments(spec: ImageSpec, identity: Identity, base: str) -> list[str]:
    """The same arguments for a competitor's image: the base that it may build on, and our labels."""
    labels = {
        TARGET_LABEL: spec.target.name,
        IDENTITY_LABEL: identity.identity,
        EXECUTION_HASH_LABEL: identity.execution_hash,
    }
    return [
        *("--build-arg", f"BASE={base}"),
        *(word for name, value in labels.items() for word in ("--label", f"{name}={value}")),
    ]


def certificate_secret() -> list[str]:
    """The bundle of a host behind its own certificate authority: a build secret, never a layer."""
    bundle = os.environ.get("SSL_CERT_FILE")
    return ["--secret", f"id=ca,src={bundle}"] if bundle and Path(bundle).is_file() else []


def _build(
    spec: ImageSpec,
    identity: Identity,
    root: Path,
    log: Path,
    say: Callable[[str], None],
    *,
    tags: Iterable[str],
) -> float:
    base = ensure_base(spec.toolchain, log_directory=log.parent, say=say)
    say(f"building {spec.tag} (log: {log})")
    started = time.monotonic()
    with _what(spec, identity, base, root) as what:
        result = docker(
            # The daemon's own builder shares its images: the base is one of them, and the result becomes one.
            *("buildx", "build", "--builder", builder(), "--progress", "plain"),
            *("--platform", f"linux/{spec.architecture}"),
            *certificate_secret(),
            *network_arguments(spec.toolchain),
            *(word for tag in tags for word in ("--tag", tag)),
            *what,
            log=log,
        )
    seconds = time.monotonic() - started
    if result.returncode != 0:
        raise _failure(spec, root, log, say)
    say(f"built {spec.tag} in {seconds:.0f} s")
    return seconds


@contextmanager
def _what(spec: ImageSpec, identity: Identity, base: str, root: Path) -> Iterator[list[str]]:
    """The arguments that say what is built.

    The last is the folder: the checkout, or a temporary copy of a competitor's files.
    """
    source = spec.target.source
    if isinstance(source, TheirDockerfile | TheirImage):
        with build_files(source) as files:
            arguments = their_arguments(spec, identity, base)
            yield [*arguments, "--file", str(files.dockerfile), str(files.context)]
    else:
        arguments = build_arguments(spec, identity, base)
        dockerfile = str(root / "docker" / "Dockerfile")
        yield [*arguments, "--target", spec.target.name, "--file", dockerfile, str(root)]


def _failure(spec: ImageSpec, root: Path, log: Path, say: Callable[[str], None]) -> ForgeBenchError:
    text = log.read_text(encoding="utf-8", errors="replace")
    ours = isinstance(spec.target.source, Stage)
    if ours and (refused := _refused_packages(spec, text, root, log.parent, say)):
        return refused
    if not ours and spec.architecture != machine.architecture() and _FOREIGN_BINARY in text:
        return EmulationMissing(
            what=f"building {spec.tag} runs programs for {spec.architecture}, and this kernel cannot",
            why=f"a step of the build ended with: {_FOREIGN_BINARY}",
            fix="install what emulates them: python -m runner setup",
        )
    if known := diagnose(text, what=f"building {spec.tag}", log=log):
        return known
    tail = "\n".join(f"    {line}" for line in text.splitlines()[-_TAIL_LINES:])
    return ImageBuildFailed(
        what=f"building {spec.tag} failed; its log ends\n{tail}",
        why=f"a step of {'docker/Dockerfile' if ours else 'a build that is not of forge-bench'} ended with an error",
        fix=f"read {log}",
    )


def _refused_packages(
    spec: ImageSpec, text: str, root: Path, log_directory: Path, say: Callable[[str], None]
) -> ForgeBenchError | None:
    """The error that our build scripts printed about packages that are not as locked or pinned."""
    lines = text.splitlines()
    # The log may show the script itself too; only the printed line has the values filled in.
    if any("$" not in line.partition(_NOT_SERVED)[2] for line in lines if _NOT_SERVED in line):
        drift = _drift(spec, root, log_directory, say)
        if drift is not None:
            return drift
    for line in lines:
        _, separator, mismatch = line.partition("forge-bench: pin mismatch: ")
        if separator and "$" not in mismatch:
            return PinMismatch(
                what=f"{spec.toolchain.suite} does not serve what toolchain {spec.toolchain.name} pins",
                why=mismatch,
                fix=f"set toolchains.{spec.toolchain.name} to what is served, or take another suite",
            )
    return None


def _drift(
    spec: ImageSpec, root: Path, log_directory: Path, say: Callable[[str], None]
) -> PackagesDrifted | None:
    """The error for packages that differ from the lock; None where they are equal, so that the mirror is at fault."""
    served = resolve(spec.toolchain, root=root, log_directory=log_directory, say=say)
    found = {}
    for kind, architecture in locks_of(spec):
        lock = require_lock(root, spec.toolchain, kind, architecture)
        found[f"{kind}-{architecture}"] = changes(lock.packages, served[kind, architecture].packages)
    if not any(found.values()):
        return None
    return drifted(
        spec.toolchain.name,
        found,
        why=f"{lock.mirror} has moved on, and {lock.archive} did not serve what it had",
    )


def _aliases(spec: ImageSpec) -> tuple[str, ...]:
    """Short names, for people."""
    own = spec.architecture == machine.architecture()
    if not isinstance(spec.target.source, Stage):
        # A competitor's image may have any name, even that of an architecture.
        return ()
    if spec.target == CORE:
        return (f"forge-bench:{spec.architecture}", *(("forge-bench:latest",) if own else ()))
    return (f"forge-bench:{spec.target.name}",) if own else ()


def image_of(spec: ImageSpec, identity: Identity, found: Mapping[str, Any], seconds: float | None) -> Image:
    """The image as a daemon describes it, after ``seconds`` of a build (None: without one).

    Raises:
        ImageBuildFailed: a competitor's image does not let the runner enforce a launch's limits.
    """
    if not isinstance(spec.target.source, Stage):
        _refuse_unfit(spec, found)
    return Image(
        spec=spec,
        config_digest=str(found["Id"]),
        manifest_digest=manifest_digest_of(found),
        identity=identity.identity,
        execution_hash=identity.execution_hash,
        built_seconds=seconds,
    )


def _refuse_unfit(spec: ImageSpec, found: Mapping[str, Any]) -> None:
    """Check that a competitor's image lets the runner enforce a launch's limits.

    Raises:
        ImageBuildFailed: it is of another architecture, or declares volumes.
    """
    if found.get("Architecture") != spec.architecture:
        raise ImageBuildFailed(
            what=f"{spec.tag} is an image for {found.get('Architecture')}",
            why=f"its platform is {spec.architecture}; times of another would be recorded as that platform's",
            fix=f"build or name one for {spec.architecture}, or list its implementations' platforms in the matrix",
        )
    if (found.get("Config") or {}).get("Volumes"):
        raise ImageBuildFailed(
            what=f"{spec.tag} declares volumes: {', '.join(found['Config']['Volumes'])}",
            why="a launch could write there without any bound; it may write to /tmp and its output folder alone",
            fix="leave VOLUME out of the Dockerfile, or build on the image that declares them without it",
        )
