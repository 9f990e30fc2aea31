"""The packages that the archive serves now. apt answers inside the base image, and downloads or installs nothing."""

import re
import tempfile
from collections.abc import Callable
from datetime import UTC, datetime
from itertools import product
from pathlib import Path

from runner.daemon.docker_command import builder, docker
from runner.images.base import ensure_base
from runner.images.diagnosis import diagnose
from runner.images.lock import BELOW, KINDS, Lock, asked_for, beyond, parse_uris
from runner.images.network import network_arguments
from runner.matrix.toolchain import ARCHITECTURES, Toolchain
from runner.system.errors import ForgeBenchError, ImageBuildFailed

_TAIL_LINES = 15
_LACKING = re.compile(
    r"E: (Unable to locate package|Package .* has no installation candidate|Unable to correct)"
)
_STEP = re.compile(r"#\d+ (\d+\.\d+ )?")


def resolve(
    toolchain: Toolchain, *, root: Path, log_directory: Path, say: Callable[[str], None]
) -> dict[tuple[str, str], Lock]:
    """The content of a lock written now, by kind and architecture.

    Raises:
        MirrorUnreachable: the archive does not answer, or has no such suite or moment.
        ImageBuildFailed: the archive lacks a package that is asked for.
    """
    base = ensure_base(toolchain, log_directory=log_directory, say=say)
    log = log_directory / f"resolve-{toolchain.name}.log"
    moment = datetime.now(tz=UTC).strftime("%Y%m%dT%H%M%SZ")
    say(f"asking {toolchain.mirror} for the packages of {toolchain.name} (log: {log})")
    with tempfile.TemporaryDirectory(prefix="forge-bench-resolve-") as temporary:
        arguments = {
            "BASE": base,
            "SUITE": toolchain.suite,
            "MIRROR": toolchain.mirror,
            # This argument keeps Docker from reusing the layer of an earlier question.
            "ASKED_AT": datetime.now(tz=UTC).isoformat(),
        }
        result = docker(
            *("buildx", "build", "--builder", builder(), "--progress", "plain", "--target", "resolved"),
            *("--file", str(root / "docker" / "Dockerfile"), "--output", f"type=local,dest={temporary}"),
            *network_arguments(toolchain),
            *(word for name, value in arguments.items() for word in ("--build-arg", f"{name}={value}")),
            str(root),
            log=log,
        )
        if result.returncode != 0:
            raise _failure(toolchain, log)
        found = {
            (kind, architecture): (Path(temporary) / f"{kind}-{architecture}").read_text(encoding="utf-8")
            for kind in KINDS
            for architecture in ARCHITECTURES
        }
    try:
        packages = {key: parse_uris(text, mirror=toolchain.mirror) for key, text in found.items()}
        for (kind, below), architecture in product(BELOW.items(), ARCHITECTURES):
            packages[kind, architecture] = beyond(packages[below, architecture], packages[kind, architecture])
        return {
            (kind, architecture): Lock(
                suite=toolchain.suite,
                mirror=toolchain.mirror,
                archive=toolchain.archive_of(toolchain.snapshot or moment),
                asked=asked_for(root, kind, toolchain.suite),
                packages=each,
            )
            for (kind, architecture), each in packages.items()
        }
    except ValueError as error:
        raise ImageBuildFailed(
            what=f"what apt says of {toolchain.mirror} cannot be locked",
            why=str(error),
            fix="take an archive whose index holds SHA-256 checksums",
        ) from error


def _failure(toolchain: Toolchain, log: Path) -> ForgeBenchError:
    text = log.read_text(encoding="utf-8", errors="replace")
    lines = [_STEP.sub("", line) for line in text.splitlines()]
    refused = [line for line in lines if _LACKING.match(line)]
    if not refused and (known := diagnose(text, what=f"asking {toolchain.mirror} for its packages", log=log)):
        return known
    tail = "\n".join(f"    {line}" for line in (refused or lines)[-_TAIL_LINES:])
    if refused:
        why = f"{toolchain.mirror} lacks a package that a list in docker/ names"
        fix = f"correct that list, or take another suite or moment; log: {log}"
    else:
        why, fix = "apt ended with an error", f"read {log}"
    return ImageBuildFailed(
        what=f"apt could not say which packages {toolchain.suite} serves\n{tail}", why=why, fix=fix
    )
