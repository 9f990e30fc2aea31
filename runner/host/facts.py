"""The facts about the host: its Debian-like release, and its installed programs."""

import os
import platform
import shutil
from dataclasses import dataclass
from pathlib import Path

from runner.daemon.docker_command import docker, inspect_images
from runner.daemon.endpoint import current_endpoint
from runner.daemon.information import information
from runner.daemon.whereabouts import Whereabouts, whereabouts
from runner.system.emulation import BINFMT, emulator_name
from runner.system.errors import DockerUnavailable

_SECONDS = 20.0
_KEYRINGS = Path("/usr/share/keyrings")


@dataclass(frozen=True, kw_only=True)
class Host:
    """The facts that decide what the host lacks. Read once by ``read_host``; invented by tests.

    ``has_base`` is False where no daemon can be asked; ``has_keyring`` is whether Debian's packages can be verified.
    """

    codename: str
    has_apt: bool
    is_root: bool
    has_docker: bool
    has_buildx: bool
    has_base: bool
    has_mmdebstrap: bool
    has_keyring: bool
    has_systemd: bool
    binfmt_mounted: bool
    emulated: frozenset[str]
    installed_emulators: frozenset[str]


def read_host(base: str, foreign: frozenset[str]) -> Host:
    """Read the facts of this machine.

    ``base`` is the base image's tag, and ``foreign`` are the architectures to emulate. No fact needs Docker: without
    Docker its facts count as absent.
    """
    return Host(
        codename=_codename(),
        has_apt=shutil.which("apt-get") is not None,
        is_root=os.geteuid() == 0,
        has_docker=shutil.which("docker") is not None,
        has_buildx=_has_buildx(),
        has_base=_has_image(base),
        has_mmdebstrap=shutil.which("mmdebstrap") is not None,
        has_keyring=any(_KEYRINGS.glob("debian-archive-keyring.*")),
        has_systemd=Path("/run/systemd/system").is_dir(),
        binfmt_mounted=(BINFMT / "register").exists(),
        emulated=foreign
        if _emulators_are_anothers(foreign)
        else frozenset(each for each in foreign if is_registered(each)),
        installed_emulators=frozenset(each for each in foreign if configuration(each).exists()),
    )


def configuration(architecture: str) -> Path:
    """The registration that QEMU's package ships for the kernel."""
    return Path(f"/usr/lib/binfmt.d/{emulator_name(architecture)}.conf")


def is_registered(architecture: str) -> bool:
    """Whether this kernel runs such programs in containers too (flag F: it holds the emulator open)."""
    try:
        text = (BINFMT / emulator_name(architecture)).read_text(encoding="utf-8")
    except OSError:
        return False
    flags = next((line for line in text.splitlines() if line.startswith("flags:")), "")
    return text.startswith("enabled") and "F" in flags.partition(":")[2]


def containers_have_another_kernel() -> bool:
    """Whether containers run on another kernel: on another machine, or in Docker Desktop's virtual machine.

    This kernel's registrations say nothing about that kernel, and nothing can be installed there from here.
    """
    try:
        endpoint, said = current_endpoint(), information()
    except DockerUnavailable:
        return False
    # A daemon that does not describe itself is judged by its address.
    return endpoint.socket is None if not said else whereabouts(said, endpoint) is not Whereabouts.HERE


def _emulators_are_anothers(foreign: frozenset[str]) -> bool:
    # This check comes last, because it asks the daemon.
    return not all(is_registered(each) for each in foreign) and containers_have_another_kernel()


def _has_buildx() -> bool:
    try:
        return docker("buildx", "version", timeout=_SECONDS).returncode == 0
    except DockerUnavailable:
        return False


def _has_image(tag: str) -> bool:
    try:
        return tag in inspect_images([tag])
    except DockerUnavailable:
        return False


def _codename() -> str:
    try:
        return platform.freedesktop_os_release().get("VERSION_CODENAME", "")
    except OSError:
        return ""
