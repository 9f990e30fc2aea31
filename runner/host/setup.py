"""Setting a host up: what is lacking is installed where we may, named with its commands where we may not."""

import os
import subprocess
from collections.abc import Callable, Sequence

from runner.daemon.information import require_daemon
from runner.host.facts import Host, read_host
from runner.host.steps import Need, Step, WriteFile, needs
from runner.images.base import base_tag
from runner.matrix.toolchain import Toolchain
from runner.system import machine
from runner.system.errors import HostNotReady


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
    require_daemon()
    still = mend(architectures, toolchain, say=say) if fix else lacking(architectures, toolchain)
    if still:
        raise not_ready(still)


def lacking(architectures: Sequence[str], toolchain: Toolchain) -> list[Need]:
    """What this host lacks for images of these architectures; a daemon is no part of it."""
    return _look(architectures, toolchain)[1]


def mend(architectures: Sequence[str], toolchain: Toolchain, *, say: Callable[[str], None]) -> list[Need]:
    """Install what is lacking, as far as we may and know how; returns what is lacking still.

    Raises:
        HostNotReady: a step failed.
    """
    host, found = _look(architectures, toolchain)
    mendable = [need for need in found if need.steps] if host.is_root else []
    for need in mendable:
        say(f"installing {need.what}: {need.why}")
        for step in need.steps:
            _take(step, need)
    return lacking(architectures, toolchain) if mendable else found


def _look(architectures: Sequence[str], toolchain: Toolchain) -> tuple[Host, list[Need]]:
    foreign = frozenset(architectures) - {machine.architecture()}
    host = read_host(base_tag(toolchain), foreign)
    return host, needs(host, foreign, pulled=toolchain.base is not None)


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


def not_ready(found: Sequence[Need]) -> HostNotReady:
    """The error for all that is lacking, of the one kind where there is but one."""
    commands = [str(step) for need in found for step in need.steps]
    by_hand = [need.what for need in found if not need.steps]
    advice = []
    if commands:
        advice.append("run make setup as root, or these commands:\n    " + "\n    ".join(commands))
    if by_hand:
        advice.append(f"install with this system's own means: {', '.join(by_hand)}")
    kinds = {need.error for need in found}
    return (kinds.pop() if len(kinds) == 1 else HostNotReady)(
        what=f"this host lacks {', '.join(need.what for need in found)}",
        why="; ".join(f"{need.what}: {need.why}" for need in found),
        fix="\n    ".join(advice),
    )
