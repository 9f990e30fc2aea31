"""The base image of our images: a local image, else a pull by digest, else a bootstrap from packages."""

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
# The time to undo mounts and to remove some hundred megabytes.
_GRACE_SECONDS = 15.0


def base_tag(toolchain: Toolchain) -> str:
    """The local name of the base of this toolchain, for the building machine's own architecture."""
    moment = "" if toolchain.snapshot is None else f"-{toolchain.snapshot}"
    return f"forge-bench-base:{toolchain.suite}{moment}-{machine.architecture()}"


def ensure_base(toolchain: Toolchain, *, log_directory: Path, say: Callable[[str], None]) -> str:
    """The tag of the base image, which exists when this returns.

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
    """The advice to get a base image. Setup installs mmdebstrap only where the matrix names no base by digest."""
    if toolchain.base is None:
        return "run make setup, see that the Debian mirror is reachable"
    return f"see that docker pull {shlex.quote(toolchain.base)} works, install mmdebstrap"


def _bootstrap(toolchain: Toolchain, tag: str, log_directory: Path, say: Callable[[str], None]) -> str:
    """Make the base image from the suite's packages with mmdebstrap; return a line about it."""
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
            # apt gives up an unreachable mirror within seconds, not minutes.
            '--aptopt=Acquire::Retries "1"',
            '--aptopt=Acquire::http::Timeout "10"',
            f"--architectures={machine.architecture()}",
            *([f"--keyring={_KEYRING}"] if _KEYRING.exists() else []),
            toolchain.suite,
            str(archive),
            # The index of a dated archive has expired; its signature still counts.
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
    """Run mmdebstrap to its end. A stopped mmdebstrap removes its files; all others lie in ``temporary``."""
    chroots = temporary / "chroots"
    chroots.mkdir()
    # Other users write there too: apt's user, and without root all users that mmdebstrap maps.
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
                # mmdebstrap always waits for its children, so the interrupt must reach the children.
                end_group(process, grace_seconds=_GRACE_SECONDS)


def _private_mounts() -> tuple[str, ...]:
    """For root, the command that starts mmdebstrap in a separate mount namespace.

    Root's mmdebstrap mounts this machine's /dev/shm and others into its chroot. After a kill, removing that chroot
    would also remove the mounted files. The mounts of a namespace end with its process. Other users always get a
    namespace; a user who may not have one may not mount either.
    """
    own = ("unshare", "--mount")
    if os.geteuid() != 0 or shutil.which(own[0]) is None:
        return ()
    tried = subprocess.run([*own, "true"], capture_output=True, check=False)
    return own if tried.returncode == 0 else ()


def _raise_if_known(said: str, toolchain: Toolchain, log: Path) -> None:
    """The typed errors of a bootstrap: a full disk, an unreachable mirror, a lost daemon."""
    if known := diagnose(said, what=f"making the base of {toolchain.suite}", log=log):
        raise known
