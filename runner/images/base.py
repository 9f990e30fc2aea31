"""The base that images are built on: a local image, else a pull by digest, else a bootstrap from packages."""

import os
import shlex
import shutil
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from runner.daemon.docker_command import docker, inspect_images
from runner.images.diagnosis import diagnose
from runner.matrix.toolchain import Toolchain
from runner.system import machine
from runner.system.errors import ImageBuildFailed
from runner.system.orphans import owner_environment
from runner.system.scratch import scratch_directory
from runner.system.signals import end_group, uninterrupted

_KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
# For its mounts to be undone and some hundred megabytes to be removed.
_GRACE_SECONDS = 15.0


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
    if shutil.which("mmdebstrap") is None:
        return "no mmdebstrap here to bootstrap one"
    started = time.monotonic()
    log = log_directory / "base.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    with scratch_directory("base") as temporary:
        archive = temporary / "base.tar"
        command = [
            *_private_mounts(),
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
        if _run(command, log=log, temporary=temporary) != 0:
            _raise_if_known(log.read_text(encoding="utf-8", errors="replace"), toolchain, log)
            return f"mmdebstrap failed, see {log}"
        imported = docker("import", str(archive), tag)
        if imported.returncode != 0:
            _raise_if_known(imported.stderr, toolchain, log)
            return f"docker import: {imported.stderr.strip()[-200:]}"
    say(f"base {tag}: bootstrapped from packages in {time.monotonic() - started:.0f} s")
    return "bootstrapped"


def _run(command: Sequence[str], *, log: Path, temporary: Path) -> int:
    """Run mmdebstrap to its end; one that is stopped removes what it made, and what it cannot is in ``temporary``."""
    chroots = temporary / "chroots"
    chroots.mkdir()
    # Its own users work in there: apt's, and without root all of those that it maps.
    chroots.chmod(0o1777)
    temporary.chmod(0o711)
    process: subprocess.Popen[bytes] | None = None
    try:
        with log.open("wb") as file, uninterrupted():
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=subprocess.STDOUT,
                env={**os.environ, **owner_environment(), "TMPDIR": str(chroots)},
                start_new_session=True,
            )
        return process.wait()
    finally:
        if process is not None:
            with uninterrupted():
                # It waits for its children whatever it is told: the wish to stop must reach those.
                end_group(process, grace_seconds=_GRACE_SECONDS)


def _private_mounts() -> tuple[str, ...]:
    """For root, what mmdebstrap is to be started by: a mount namespace of its own.

    Root's mmdebstrap mounts /dev/shm and others of this machine into its chroot. Were it killed, whoever removes that
    chroot would remove what lies there; mounts of its own namespace are gone with it. Others have one anyway, and who
    may not have one may not mount either.
    """
    own = ("unshare", "--mount")
    if os.geteuid() != 0 or shutil.which(own[0]) is None:
        return ()
    tried = subprocess.run([*own, "true"], capture_output=True, check=False)
    return own if tried.returncode == 0 else ()


def _raise_if_known(said: str, toolchain: Toolchain, log: Path) -> None:
    """A full disk, a mirror out of reach, a daemon that has gone: each has a remedy of its own."""
    if known := diagnose(said, what=f"making the base of {toolchain.suite}", log=log):
        raise known
