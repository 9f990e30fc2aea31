"""Setting a host up: what is lacking is installed where we may, named with its commands where we may not."""

import os
import subprocess
from collections.abc import Callable, Sequence

from runner import machine
from runner.errors import DockerUnavailable, HostNotReady
from runner.host.facts import read_host
from runner.host.steps import Need, Step, WriteFile, needs
from runner.images.base import base_tag
from runner.images.command import docker
from runner.images.spec import Toolchain


def set_up(
    architectures: Sequence[str], toolchain: Toolchain, *, say: Callable[[str], None], fix: bool
) -> None:
    """See that images of these architectures can be built and run here.

    Args:
        architectures: Docker's names of them.
        toolchain: whose base is needed.
        say: takes a line about each thing that is done.
        fix: install what is lacking, if we are root; otherwise only look.

    Raises:
        DockerUnavailable: no daemon answers; nothing can be done about that here.
        HostNotReady: something is lacking; the message ends in the exact commands.
    """
    foreign = frozenset(architectures) - {machine.architecture()}
    _require_daemon()
    host = read_host(base_tag(toolchain), foreign)
    lacking = needs(host, foreign)
    for need in lacking:
        if not (fix and host.is_root and need.steps):
            raise _not_ready(lacking)
        say(f"installing {need.what}: {need.why}")
        for step in need.steps:
            _take(step, need)
    still = needs(read_host(base_tag(toolchain), foreign), foreign) if lacking else []
    if still:
        raise _not_ready(still)


def _require_daemon() -> None:
    answer = docker("version", "--format", "{{.Server.Version}}")
    if answer.returncode != 0:
        raise DockerUnavailable(
            what="no Docker daemon answers",
            why=" ".join(answer.stderr.split())[:300],
            fix="start it (sudo systemctl start docker, or Docker Desktop); "
            "if it runs: sudo usermod -aG docker $USER, then log in again",
        )


def _take(step: Step, need: Need) -> None:
    try:
        if isinstance(step, WriteFile):
            step.path.parent.mkdir(parents=True, exist_ok=True)
            step.path.write_text(step.content, encoding="utf-8")
            return
        result = subprocess.run(
            step.arguments,
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, "DEBIAN_FRONTEND": "noninteractive"},
        )
        problem = result.stderr.strip()[-500:] if result.returncode else None
    except OSError as error:
        problem = str(error)
    if problem is not None:
        raise HostNotReady(
            what=f"could not install {need.what}", why=problem, fix=f"run it by hand and see: {step}"
        )


def _not_ready(lacking: Sequence[Need]) -> HostNotReady:
    commands = [str(step) for need in lacking for step in need.steps]
    by_hand = [need.what for need in lacking if not need.steps]
    advice = []
    if commands:
        advice.append("run make setup as root, or these commands:\n    " + "\n    ".join(commands))
    if by_hand:
        advice.append(f"install with this system's own means: {', '.join(by_hand)}")
    return HostNotReady(
        what=f"this host lacks {', '.join(need.what for need in lacking)}",
        why="; ".join(f"{need.what}: {need.why}" for need in lacking),
        fix="\n    ".join(advice),
    )
