"""The docker command line: what the SDK cannot do (buildx), and what costs less without it."""

import json
import os
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from runner.daemon.client import call_client
from runner.daemon.endpoint import current_endpoint
from runner.daemon.unavailable import is_connection_trouble, unavailable
from runner.system.errors import DockerMissing


def docker(
    *arguments: str, log: Path | None = None, timeout: float | None = None
) -> "subprocess.CompletedProcess[str]":
    """Run ``docker`` to its end, on the daemon that was found first. With ``log``, all that it prints goes in there.

    Whoever calls ``docker context use`` in the meantime moves nothing: each call names the daemon.

    Args:
        arguments: what follows the word docker.
        log: a file for stdout and stderr together, instead of the result.
        timeout: seconds after which a daemon that listens and says nothing counts as none.

    Raises:
        DockerMissing: there is no such program, or it cannot be executed.
        DockerUnavailable: ``timeout`` passed, or nothing says which daemon is meant.
    """
    variables = current_endpoint().environment(os.environ)
    return call_client(*arguments, environment=variables, log=log, timeout=timeout)


def inspect_images(references: Sequence[str]) -> dict[str, dict[str, Any]]:
    """What the daemon knows of these images, by reference; those that are not there are not in the result.

    Raises:
        DockerMissing, DockerUnavailable: there is nobody to ask.
    """
    found: dict[str, dict[str, Any]] = {}
    # One call for all; where one is missing docker still prints the others.
    result = docker("image", "inspect", *references)
    if result.returncode != 0 and is_connection_trouble(result.stderr):
        raise unavailable(result.stderr)
    for image in _list(result.stdout):
        for tag in image.get("RepoTags") or []:
            if tag in references:
                found[tag] = image
    return found


def _list(text: str) -> list[dict[str, Any]]:
    try:
        found = json.loads(text or "[]")
    except ValueError as error:
        raise DockerMissing(
            what="what bears the name docker is not the Docker command line",
            why=f"asked for images it said {text[:80]!r}",
            fix="see which one is found first: type -a docker",
        ) from error
    return found if isinstance(found, list) else []


def builder() -> str:
    """The buildx builder that is the daemon itself, whatever builder is in use."""
    return current_endpoint().builder
