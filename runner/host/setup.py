"""Set a host up. With the rights setup installs what is missing; without them it prints the commands."""

import os
import subprocess
from collections.abc import Callable, Sequence

from runner.daemon.information import require_daemon
from runner.host.facts import Host, read_host
from runner.host.finding import Finding
from runner.host.needs import needs
from runner.host.step import Step, WriteFile
from runner.images.base import base_tag
from runner.matrix.toolchain import Toolchain
from runner.system import machine
from runner.system.errors import EmulationMissing, ForgeBenchError, HostNotReady


def set_up(
    architectures: Sequence[str], toolchain: Toolchain, *, say: Callable[[str], None], fix: bool
) -> None:
    """Check that images of these architectures can be built and run here.

    Args:
        architectures: Docker's names of them.
        toolchain: whose base is needed.
        say: takes a line about each thing that is done.
        fix: install what is missing, as root; otherwise only check.

    Raises:
        DockerUnavailable: no daemon answers, and setup cannot start one.
        HostNotReady: something is missing; the message ends in the exact commands.
    """
    require_daemon()
    still = install_missing(architectures, toolchain, say=say) if fix else lacking(architectures, toolchain)
    if still:
        raise not_ready(still)


def lacking(architectures: Sequence[str], toolchain: Toolchain) -> list[Finding]:
    """What this host lacks for images of these architectures, without the daemon."""
    return _look(architectures, toolchain)[1]


def install_missing(
    architectures: Sequence[str], toolchain: Toolchain, *, say: Callable[[str], None]
) -> list[Finding]:
    """Install what is missing where rights and commands allow it; return what is still missing.

    Raises:
        HostNotReady: a step failed.
    """
    host, found = _look(architectures, toolchain)
    mendable = [need for need in found if need.steps] if host.is_root else []
    for need in mendable:
        say(f"installing {need.check}: {need.why}")
        for step in need.steps:
            _take(step, need)
    return lacking(architectures, toolchain) if mendable else found


def _look(architectures: Sequence[str], toolchain: Toolchain) -> tuple[Host, list[Finding]]:
    foreign = frozenset(architectures) - {machine.architecture()}
    host = read_host(base_tag(toolchain), foreign)
    return host, needs(host, foreign, pulled=toolchain.base is not None)


def _take(step: Step, need: Finding) -> None:
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
            what=f"could not install {need.check}", why=problem, fix=f"run it by hand and see: {step}"
        )


def not_ready(found: Sequence[Finding]) -> ForgeBenchError:
    """The error for all missing things. With a single one its own type of error is used."""
    commands = [command for need in found for command in need.commands]
    by_hand = [need.check for need in found if not need.steps]
    kinds = {need.error for need in found}
    advice = []
    if commands:
        advice.append("run make setup as root, or these commands:\n    " + "\n    ".join(commands))
    if by_hand:
        advice.append(f"install with this system's own means: {', '.join(by_hand)}")
    if kinds == {EmulationMissing}:
        advice.append(f"or run this machine's architecture alone: --arch {machine.architecture()}")
    return (kinds.pop() if len(kinds) == 1 else HostNotReady)(
        what=f"this host lacks {', '.join(need.check for need in found)}",
        why="; ".join(f"{need.check}: {need.why}" for need in found),
        fix="\n    ".join(advice),
    )
