"""The base that images are built on: a local image, else a pull by digest, else a bootstrap from packages."""

import os
import shlex
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

from runner import machine
from runner.errors import ImageBuildFailed
from runner.images.command import docker, inspect_images
from runner.images.diagnosis import diagnose
from runner.images.spec import Toolchain
from runner.orphans import owner_environment
from runner.scratch import scratch_directory

_KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")


def base_tag(toolchain: Toolchain) -> str:
    """The local name of the base of this toolchain, for the building machine's own architecture."""
    moment = "" if toolchain.snapshot is None else f"-{toolchain.snapshot}"
    return f"forge-bench-base:{toolchain.suite}{moment}-{machine.architecture()}"


def ensure_base(toolchain: Toolchain, *, log_directory: Path, say: Callable[[str], None]) -> str:
    """The tag of the base, which is there when this returns.

    Raises:
        ImageBuildFailed: none of the three ways led to one.
    """
    tag = base_tag(toolchain)
    if tag in inspect_images([tag]):
        return tag
    tried = [f"no local image {tag}"]
    if toolchain.base is not None:
        pulled = docker("pull", "--quiet", toolchain.base)
        if pulled.returncode == 0:
            docker("tag", toolchain.base, tag)
            say(f"base {tag}: pulled {toolchain.base}")
            return tag
        tried.append(f"pulling {toolchain.base}: {pulled.stderr.strip()[-200:]}")
    tried.append(_bootstrap(toolchain, tag, log_directory, say))
    if tag in inspect_images([tag]):
        return tag
    raise ImageBuildFailed(
        what=f"there is no base to build on for the suite {toolchain.suite}",
        why="; ".join(tried),
        fix=f"{_way(toolchain)}, or docker pull and tag an image as {tag}",
    )


def _way(toolchain: Toolchain) -> str:
    """How a base is to be had: setup installs what bootstraps one only where none is named by its digest."""
    if toolchain.base is None:
        return "run make setup, see that the Debian mirror is reachable"
    return f"see that docker pull {shlex.quote(toolchain.base)} works, install mmdebstrap"


def _bootstrap(toolchain: Toolchain, tag: str, log_directory: Path, say: Callable[[str], None]) -> str:
    """Make the base from the suite's packages with mmdebstrap; returns what happened, in words."""
    started = time.monotonic()
    log = log_directory / "base.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    with scratch_directory("base") as temporary:
        archive = temporary / "base.tar"
        command = [
            "mmdebstrap",
            "--variant=minbase",
            # A mirror out of reach is given up within seconds, and not after minutes.
            '--aptopt=Acquire::Retries "1"',
            '--aptopt=Acquire::http::Timeout "10"',
            f"--architectures={machine.architecture()}",
            *([f"--keyring={_KEYRING}"] if _KEYRING.exists() else []),
            toolchain.suite,
            str(archive),
            # A dated archive's index has run out; its signature still counts.
            f"deb {'[check-valid-until=no] ' if toolchain.snapshot else ''}{toolchain.mirror} {toolchain.suite} main",
        ]
        try:
            with log.open("w", encoding="utf-8") as file:
                result = subprocess.run(
                    command,
                    stdout=file,
                    stderr=subprocess.STDOUT,
                    env={**os.environ, **owner_environment()},
                    check=False,
                )
        except FileNotFoundError:
            return "no mmdebstrap here to bootstrap one"
        if result.returncode != 0:
            _raise_if_known(log.read_text(encoding="utf-8", errors="replace"), toolchain, log)
            return f"mmdebstrap failed, see {log}"
        imported = docker("import", str(archive), tag)
        if imported.returncode != 0:
            _raise_if_known(imported.stderr, toolchain, log)
            return f"docker import: {imported.stderr.strip()[-200:]}"
    say(f"base {tag}: bootstrapped from packages in {time.monotonic() - started:.0f} s")
    return "bootstrapped"


def _raise_if_known(said: str, toolchain: Toolchain, log: Path) -> None:
    """A full disk, a mirror out of reach, a daemon that has gone: each has a remedy of its own."""
    if known := diagnose(said, what=f"making the base of {toolchain.suite}", log=log):
        raise known
