"""What is known of the host: which Debian-like release it is, and what is already there."""

import os
import platform
import shutil
from dataclasses import dataclass
from pathlib import Path

from runner.images.command import docker, inspect_images

BINFMT = Path("/proc/sys/fs/binfmt_misc")


@dataclass(frozen=True, kw_only=True)
class Host:
    """Facts that decide what is lacking. Read once by ``read_host``; invented by tests."""

    codename: str
    has_apt: bool
    is_root: bool
    has_buildx: bool
    has_base: bool
    has_mmdebstrap: bool
    has_systemd: bool
    binfmt_mounted: bool
    emulated: frozenset[str]
    installed_emulators: frozenset[str]


def read_host(base: str, foreign: frozenset[str]) -> Host:
    """Look at this machine. ``base`` is the base image's tag, ``foreign`` what is to be emulated."""
    return Host(
        codename=_codename(),
        has_apt=shutil.which("apt-get") is not None,
        is_root=os.geteuid() == 0,
        has_buildx=docker("buildx", "version").returncode == 0,
        has_base=base in inspect_images([base]),
        has_mmdebstrap=shutil.which("mmdebstrap") is not None,
        has_systemd=Path("/run/systemd/system").is_dir(),
        binfmt_mounted=(BINFMT / "register").exists(),
        emulated=foreign
        if _is_desktop(foreign)
        else frozenset(each for each in foreign if is_registered(each)),
        installed_emulators=frozenset(each for each in foreign if configuration(each).exists()),
    )


def emulator_name(architecture: str) -> str:
    """QEMU's name for an architecture that Docker calls amd64 or arm64."""
    return {"amd64": "qemu-x86_64", "arm64": "qemu-aarch64"}[architecture]


def configuration(architecture: str) -> Path:
    """What QEMU's package ships for the kernel to be told."""
    return Path(f"/usr/lib/binfmt.d/{emulator_name(architecture)}.conf")


def is_registered(architecture: str) -> bool:
    """Whether this kernel runs such programs in containers too (flag F: it holds the emulator open)."""
    try:
        text = (BINFMT / emulator_name(architecture)).read_text(encoding="utf-8")
    except OSError:
        return False
    flags = next((line for line in text.splitlines() if line.startswith("flags:")), "")
    return text.startswith("enabled") and "F" in flags.partition(":")[2]


def _is_desktop(foreign: frozenset[str]) -> bool:
    """Docker Desktop's own machine brings emulation; this kernel's registrations say nothing of it."""
    if all(is_registered(each) for each in foreign):
        return False
    return "Docker Desktop" in docker("info", "--format", "{{.OperatingSystem}}").stdout


def _codename() -> str:
    try:
        return platform.freedesktop_os_release().get("VERSION_CODENAME", "")
    except OSError:
        return ""
