"""The docker command line: what the SDK cannot do (buildx), and what costs less without it."""

import json
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from runner.errors import DockerUnavailable


def docker(*arguments: str, log: Path | None = None) -> "subprocess.CompletedProcess[str]":
    """Run ``docker`` to its end. With ``log``, everything that it prints goes into that file.

    Raises:
        DockerUnavailable: there is no such program.
    """
    try:
        if log is None:
            return subprocess.run(_words(arguments), capture_output=True, text=True, check=False)
        log.parent.mkdir(parents=True, exist_ok=True)
        with log.open("w", encoding="utf-8") as file:
            return subprocess.run(
                _words(arguments), stdout=file, stderr=subprocess.STDOUT, text=True, check=False
            )
    except FileNotFoundError as error:
        raise DockerUnavailable(
            what="there is no docker command here",
            why="images are built with it",
            fix="install Docker Engine (Debian: apt-get install docker.io) or Docker Desktop",
        ) from error


def _words(arguments: Sequence[str]) -> list[str]:
    return ["docker", *arguments]


def inspect_images(references: Sequence[str]) -> dict[str, dict[str, Any]]:
    """What the daemon knows of these images, by reference; those that are not there are not in the result."""
    found: dict[str, dict[str, Any]] = {}
    # One call for all; where one is missing docker still prints the others.
    result = docker("image", "inspect", *references)
    for image in json.loads(result.stdout or "[]"):
        for tag in image.get("RepoTags") or []:
            if tag in references:
                found[tag] = image
    return found
