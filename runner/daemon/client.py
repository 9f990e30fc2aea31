"""Start the docker program, wait for it, and tell its failures apart. The caller decides which daemon it speaks to."""

import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from runner.daemon.unavailable import missing, silent
from runner.system.orphans import owner_environment
from runner.system.signals import die_with_parent


def call_client(
    *arguments: str,
    environment: Mapping[str, str] | None = None,
    log: Path | None = None,
    timeout: float | None = None,
) -> "subprocess.CompletedProcess[str]":
    """Run ``docker`` to its end. With ``log``, its whole output goes into that file.

    This is for questions that no daemon answers. `runner.daemon.docker_command.docker` is for all others.

    Args:
        arguments: what follows the word docker.
        environment: the variables that it gets; the runner's own where there is none.
        log: a file for stdout and stderr together, instead of the result.
        timeout: seconds after which a daemon that listens and says nothing counts as none.

    Raises:
        DockerMissing: there is no such program, or it cannot be executed.
        DockerUnavailable: ``timeout`` passed.
    """
    command = ["docker", *arguments]
    variables = os.environ if environment is None else environment
    if log is None:
        return _run(command, variables, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=timeout)
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("w", encoding="utf-8") as file:
        return _run(command, variables, stdout=file, stderr=subprocess.STDOUT, timeout=timeout)


def pipe_client(
    writer: Sequence[str], from_there: Mapping[str, str], reader: Sequence[str], to_there: Mapping[str, str]
) -> "tuple[int, subprocess.CompletedProcess[str]]":
    """Run ``docker`` twice, and give what the first prints to the second. No disk holds it.

    Args:
        writer: what follows the word docker in the first.
        from_there: the variables that the first gets, which name its daemon.
        reader: what follows the word docker in the second.
        to_there: the variables that the second gets.

    Returns:
        The exit code of the first, and how the second ended.

    Raises:
        DockerMissing: there is no such program, or it cannot be executed.
    """
    try:
        with subprocess.Popen(
            ["docker", *writer],
            env={**from_there, **owner_environment()},
            preexec_fn=die_with_parent(),  # noqa: PLW1509 (it allocates nothing)
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        ) as source:
            ended = subprocess.run(
                ["docker", *reader],
                env={**to_there, **owner_environment()},
                preexec_fn=die_with_parent(),
                stdin=source.stdout,
                capture_output=True,
                text=True,
                errors="replace",
                check=False,
            )
            if source.stdout is not None:
                # Where nothing reads any more, the writer ends too.
                source.stdout.close()
    except OSError as error:
        raise missing(error) from error
    return source.returncode, ended


def _run(
    command: Sequence[str], variables: Mapping[str, str], *, stdout: Any, stderr: int, timeout: float | None
) -> "subprocess.CompletedProcess[str]":
    try:
        return subprocess.run(
            command,
            # A plain image: newer buildx would wrap it, with its provenance, into an index. Older ones ignore this.
            env={**variables, **owner_environment(), "BUILDX_NO_DEFAULT_ATTESTATIONS": "1"},
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
