"""The docker command line, for work that the SDK cannot do (buildx) or does more slowly."""

import json
import os
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from runner.daemon.client import call_client
from runner.daemon.endpoint import Endpoint, current_endpoint
from runner.daemon.unavailable import is_connection_trouble, unavailable
from runner.system.errors import DockerMissing

# What Podman writes before the name of an image that was loaded, or imported over Docker's interface.
_PODMAN = ("localhost/", "docker.io/library/")


def docker(
    *arguments: str, log: Path | None = None, timeout: float | None = None, at: Endpoint | None = None
) -> "subprocess.CompletedProcess[str]":
    """Run ``docker`` to its end, on the daemon that was found first. With ``log``, its whole output goes into that file.

    A ``docker context use`` in the meantime changes nothing: each call names the daemon.

    Args:
        arguments: what follows the word docker.
        log: a file for stdout and stderr together, instead of the result.
        timeout: seconds after which a silent daemon counts as absent.
        at: another daemon.

    Raises:
        DockerMissing: there is no such program, or it cannot be executed.
        DockerUnavailable: ``timeout`` passed, or nothing says which daemon is meant.
    """
    variables = (at or current_endpoint()).environment(os.environ)
    return call_client(*arguments, environment=variables, log=log, timeout=timeout)


def inspect_images(references: Sequence[str], at: Endpoint | None = None) -> dict[str, dict[str, Any]]:
    """The daemon's facts about these images, by reference. Absent images are left out. ``at`` names another daemon.

    Raises:
        DockerMissing, DockerUnavailable: no daemon answers.
    """
    found: dict[str, dict[str, Any]] = {}
    # One call asks for all images. Where one is missing, docker still prints the others.
    result = docker("image", "inspect", *references, at=at)
    if result.returncode != 0 and is_connection_trouble(result.stderr):
        raise unavailable(result.stderr)
    for image in _list(result.stdout):
        for tag in image.get("RepoTags") or []:
            name = plain_name(tag)
            if name in references:
                found[name] = image
    return found


def plain_name(tag: str) -> str:
    """The name of an image without what Podman writes before it."""
    return next((tag.removeprefix(each) for each in _PODMAN if tag.startswith(each)), tag)


def _list(text: str) -> list[dict[str, Any]]:
    try:
        found = json.loads(text or "[]")
    except ValueError as error:
        raise DockerMissing(
            what="the program named docker is not the Docker command line",
            why=f"asked for images it said {text[:80]!r}",
            fix="find out which program comes first: type -a docker",
        ) from error
    return found if isinstance(found, list) else []


def builder() -> str:
    """The buildx builder that is the daemon itself, whatever builder is in use."""
    return current_endpoint().builder
