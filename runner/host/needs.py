"""The things that a host lacks to build and run images, as findings.

Setup carries out their steps, and doctor prints them.
"""

from collections.abc import Iterator
from pathlib import Path

from runner.host.facts import Host, configuration
from runner.host.finding import Finding, State
from runner.host.step import RunCommand, Step, WriteFile
from runner.system.errors import BuildxMissing, EmulationMissing, HostNotReady

# The first words of the possible needs.
BUILDX, BOOTSTRAP, EMULATION = "docker buildx", "mmdebstrap", "emulation"
_KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"
_SOURCES = Path("/etc/apt/sources.list.d")


def needs(host: Host, foreign: frozenset[str], *, pulled: bool = False) -> list[Finding]:
    """Everything that this host lacks, in the order in which setup installs it.

    Args:
        host: what is there.
        foreign: the architectures that are to be emulated.
        pulled: whether the base comes from a registry by its digest, so that nothing is needed to bootstrap it.
    """
    found = []
    # Without the docker command its plugin is not a need yet.
    if host.has_docker and not host.has_buildx:
        steps = tuple(_buildx(host))
        found.append(_missing(host, BUILDX, "images are built with it", steps, BuildxMissing))
    if not host.has_base and not pulled and not (host.has_mmdebstrap and host.has_keyring):
        # Other systems lack Debian's keys, and without root mmdebstrap maps user ids.
        steps = (_update(), _install(BOOTSTRAP, "debian-archive-keyring", "uidmap"))
        found.append(
            _missing(host, BOOTSTRAP, "the base image is bootstrapped with it and Debian's keys", steps)
        )
    missing = foreign - host.emulated
    if missing:
        found.append(
            _missing(
                host,
                f"{EMULATION} of {', '.join(sorted(missing))}",
                "images of that architecture run under QEMU here",
                tuple(_emulation(host, missing)),
                EmulationMissing,
            )
        )
    return found


def _missing(
    host: Host, what: str, why: str, steps: tuple[Step, ...], error: type[HostNotReady] = HostNotReady
) -> Finding:
    """The finding that ``what`` is missing. The steps use apt; without apt the user has to install it."""
    known = steps if host.has_apt else ()
    return Finding(
        check=what,
        state=State.MISSING,
        found=f"no {what}",
        why=why,
        steps=known,
        commands=tuple(map(str, known)),
        advice="" if known else f"install {what} with this system's own means",
        error=error,
    )


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
