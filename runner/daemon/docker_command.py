"""The docker command line, for work that the SDK cannot do (buildx) or does more slowly."""

import json
import os
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from runner.daemon.unavailable import is_connection_trouble, missing, silent, unavailable
from runner.system.errors import DockerMissing
from runner.system.orphans import owner_environment
from runner.system.signals import die_with_parent


def docker(
    *arguments: str, log: Path | None = None, timeout: float | None = None
) -> "subprocess.CompletedProcess[str]":
    """Run ``docker`` to its end. With ``log``, its whole output goes into that file.

    Args:
        arguments: what follows the word docker.
        log: a file for stdout and stderr together, instead of the result.
        timeout: seconds after which a silent daemon counts as absent.

    Raises:
        DockerMissing: there is no such program, or it cannot be executed.
        DockerUnavailable: ``timeout`` passed.
    """
    command = ["docker", *arguments]
    if log is None:
        return _run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=timeout)
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("w", encoding="utf-8") as file:
        return _run(command, stdout=file, stderr=subprocess.STDOUT, timeout=timeout)


def _run(
    command: Sequence[str], *, stdout: Any, stderr: int, timeout: float | None
) -> "subprocess.CompletedProcess[str]":
    try:
        return subprocess.run(
            command,
            # A plain image: newer buildx would wrap it, with its provenance, into an index. Older ones ignore this.
            env={**os.environ, **owner_environment(), "BUILDX_NO_DEFAULT_ATTESTATIONS": "1"},
            # A build whose runner has died must stop: the killed client closes its connection to the daemon.
            preexec_fn=die_with_parent(),
            stdin=subprocess.DEVNULL,
            stdout=stdout,
            stderr=stderr,
            text=True,
            encoding="utf-8",
            # The program named docker may print anything.
            errors="replace",
            timeout=timeout,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise silent(error.timeout) from error
    except OSError as error:
        raise missing(error) from error


def inspect_images(references: Sequence[str]) -> dict[str, dict[str, Any]]:
    """The daemon's facts about these images, by reference. Absent images are left out.

    Raises:
        DockerMissing, DockerUnavailable: no daemon answers.
    """
    found: dict[str, dict[str, Any]] = {}
    # One call asks for all images. Where one is missing, docker still prints the others.
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
            what="the program named docker is not the Docker command line",
            why=f"asked for images it said {text[:80]!r}",
            fix="find out which program comes first: type -a docker",
        ) from error
    return found if isinstance(found, list) else []


def builder() -> str:
    """The buildx builder that is the daemon itself, even where another builder is in use.

    Its name is the context's.
    """
    return docker("context", "inspect", "--format", "{{.Name}}").stdout.strip() or "default"
