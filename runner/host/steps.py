"""What is to be done about what a host lacks: files to write and commands to run, as data."""

import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from runner.host.facts import Host, configuration
from runner.system.errors import BuildxMissing, EmulationMissing, HostNotReady
from runner.system.root import SUDO

# The first words of what can be lacking.
BUILDX, BOOTSTRAP, EMULATION = "docker buildx", "mmdebstrap", "emulation"
_KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"
_SOURCES = Path("/etc/apt/sources.list.d")


@dataclass(frozen=True)
class WriteFile:
    """A small file with this content."""

    path: Path
    content: str

    def __str__(self) -> str:
        return f"printf %s {shlex.quote(self.content)} | {SUDO}tee {shlex.quote(str(self.path))} >/dev/null"


@dataclass(frozen=True)
class RunCommand:
    """A command with these arguments."""

    arguments: tuple[str, ...]

    def __str__(self) -> str:
        return SUDO + shlex.join(self.arguments)


Step = WriteFile | RunCommand


@dataclass(frozen=True)
class Need:
    """Something that is lacking, why it is needed, and the steps that mend it (none where we know no way).

    ``error`` is what a run ends with where this alone is lacking.
    """

    what: str
    why: str
    steps: tuple[Step, ...]
    error: type[HostNotReady] = HostNotReady


def needs(host: Host, foreign: frozenset[str], *, pulled: bool = False) -> list[Need]:
    """Everything that this host lacks, in the order in which it is mended.

    Args:
        host: what is there.
        foreign: the architectures that are to be emulated.
        pulled: whether the base comes from a registry by its digest, so that nothing is needed to bootstrap it.
    """
    found = []
    # A plugin of a command that is not there cannot be missed yet.
    if host.has_docker and not host.has_buildx:
        steps = tuple(_buildx(host))
        found.append(Need(BUILDX, "images are built with it", _if_apt(host, steps), BuildxMissing))
    if not host.has_base and not pulled and not (host.has_mmdebstrap and host.has_keyring):
        # Other systems lack Debian's keys, and without root mmdebstrap maps user ids.
        steps = (_update(), _install(BOOTSTRAP, "debian-archive-keyring", "uidmap"))
        found.append(
            Need(BOOTSTRAP, "the base image is bootstrapped with it and Debian's keys", _if_apt(host, steps))
        )
    missing = foreign - host.emulated
    if missing:
        found.append(
            Need(
                f"{EMULATION} of {', '.join(sorted(missing))}",
                "images of that architecture run under QEMU here",
                _if_apt(host, tuple(_emulation(host, missing))),
                EmulationMissing,
            )
        )
    return found


def _if_apt(host: Host, steps: tuple[Step, ...]) -> tuple[Step, ...]:
    return steps if host.has_apt else ()


def _buildx(host: Host) -> Iterator[Step]:
    if host.codename == "bookworm":
        # Bookworm has no buildx; trixie's installs there. Nothing else may come from trixie.
        yield _source("forge-bench-trixie.sources", "trixie")
        yield WriteFile(
            Path("/etc/apt/preferences.d/forge-bench-trixie"),
            "Package: *\nPin: release n=trixie\nPin-Priority: -10\n\n"
            "Package: docker-buildx\nPin: release n=trixie\nPin-Priority: 100\n",
        )
    yield _update()
    yield _install("docker-buildx")


def _emulation(host: Host, missing: frozenset[str]) -> Iterator[Step]:
    if not missing <= host.installed_emulators:
        if host.codename == "bookworm":
            # QEMU 10 there, 7.2 in bookworm itself: half as fast.
            yield _source("forge-bench-backports.sources", "bookworm-backports")
            yield _update()
            yield _install("qemu-user-static", "-t", "bookworm-backports")
        else:
            yield _update()
            yield _install("qemu-user-static")
    if host.has_systemd:
        yield RunCommand(("systemctl", "restart", "systemd-binfmt"))
        return
    if not host.binfmt_mounted:
        yield RunCommand(("mount", "-t", "binfmt_misc", "binfmt_misc", "/proc/sys/fs/binfmt_misc"))
    for architecture in sorted(missing):
        yield RunCommand(("/usr/lib/systemd/systemd-binfmt", str(configuration(architecture))))


def _source(name: str, suite: str) -> Step:
    return WriteFile(
        _SOURCES / name,
        f"Types: deb\nURIs: http://deb.debian.org/debian\nSuites: {suite}\n"
        f"Components: main\nSigned-By: {_KEYRING}\n",
    )


def _update() -> Step:
    return RunCommand(("apt-get", "update", "-qq"))


def _install(*words: str) -> Step:
    return RunCommand(("apt-get", "install", "-qq", "-y", "--no-install-recommends", *words))
