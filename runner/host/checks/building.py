"""Whether images can be built and run: the checks of builder, emulation, base image, mirror and pins."""

import shlex
from collections.abc import Iterator, Mapping
from dataclasses import replace

from runner.host.finding import Finding, State, skipped
from runner.host.needs import BOOTSTRAP, BUILDX, EMULATION, needs
from runner.host.state import HostState
from runner.system.errors import EmulationMissing, MirrorUnreachable, PackagesDrifted, PinMismatch
from runner.system.root import SUDO


def buildx(host_state: HostState) -> Iterator[Finding]:
    """Whether docker has the plugin that builds images."""
    if host_state.host is None:
        return
    if not host_state.host.has_docker:
        yield skipped(BUILDX, "there is no docker command to plug it into")
        return
    yield from _by_need(host_state, BUILDX, Finding(check=BUILDX, state=State.OK, found="there"))


def emulation(host_state: HostState) -> Iterator[Finding]:
    """Whether programs of the foreign architectures run.

    The check reads the kernel's registrations and tries a program.
    """
    if host_state.host is None:
        return
    for architecture in sorted(host_state.wanted.foreign):
        check = f"{EMULATION} of {architecture}"
        if host_state.daemon is not None and host_state.daemon.on_another_kernel:
            yield skipped(
                check, "containers run on another kernel than this one; Docker Desktop brings it along"
            )
        elif architecture not in host_state.host.emulated:
            yield from _by_need(
                host_state, EMULATION, Finding(check=check, state=State.OK, found="registered")
            )
        elif host_state.trial.get(architecture) is False:
            yield Finding(
                check=check,
                state=State.MISSING,
                found="registered, and yet a program of it does not run",
                why="the kernel holds an emulator that fails",
                commands=(f"{SUDO}apt-get install --reinstall qemu-user-static",),
                error=EmulationMissing,
            )
        else:
            tried = "a program of it runs" if host_state.trial.get(architecture) else "registered, not tried"
            yield Finding(check=check, state=State.OK, found=tried)


def base_image(host_state: HostState) -> Iterator[Finding]:
    """Whether the base image exists, or can be made."""
    if host_state.host is None:
        return
    check, host = "base image", host_state.host
    if host.has_base:
        yield Finding(check=check, state=State.OK, found="there")
        return
    if _pulled(host_state):
        yield Finding(check=check, state=State.OK, found="will be pulled by its digest")
        return
    if not (host.has_mmdebstrap and host.has_keyring):
        yield from _by_need(host_state, BOOTSTRAP, Finding(check=check, state=State.OK, found="there"))
        return
    if not host.is_root and host_state.unprivileged is not None:
        yield Finding(
            check=check,
            state=State.WARNING,
            found="to be bootstrapped from packages, which may fail without root",
            why=host_state.unprivileged,
            commands=(f"{SUDO}apt-get install uidmap",) if host.has_apt else (),
            advice="give the user a range in /etc/subuid and /etc/subgid",
        )
        return
    yield Finding(check=check, state=State.OK, found="will be bootstrapped from packages with mmdebstrap")


def package_mirror(host_state: HostState) -> Iterator[Finding]:
    """Whether the packages can be fetched. An unreachable mirror stops nothing where no packages are needed."""
    if host_state.host is None:
        return
    for mirror in host_state.mirrors:
        check = f"mirror of {mirror.suite}"
        if mirror.problem is None:
            yield Finding(check=check, state=State.OK, found=f"{mirror.url} answers")
            continue
        needed = host_state.missing_images is None or bool(host_state.missing_images)
        yield Finding(
            check=check,
            state=State.MISSING if needed else State.WARNING,
            found=f"{mirror.url} does not",
            why=f"{mirror.problem}; images that are not there yet are made from its packages"
            if needed
            else f"{mirror.problem}; the images are there, so nothing has to be fetched now",
            commands=(shlex.join(("curl", "-I", f"{mirror.url}/dists/{mirror.suite}/Release")),),
            advice="see that this machine has a network and resolves names",
            error=MirrorUnreachable,
        )


def pins(host_state: HostState) -> Iterator[Finding]:
    """Whether the locked packages match the matrix's pins, where an image has to be built from them."""
    if host_state.host is None:
        return
    served = {mirror.suite: mirror.served for mirror in host_state.mirrors}
    for toolchain in host_state.wanted.toolchains:
        check = f"pins of {toolchain.name}"
        pinned = {"rust": toolchain.rust, "python": toolchain.python, "pytorch": toolchain.pytorch}
        locked = host_state.locked.get(toolchain.name, {})
        if host_state.missing_images is not None and not host_state.missing_images:
            yield Finding(check=check, state=State.OK, found="verified in the images that are there")
        elif isinstance(locked, PackagesDrifted):
            yield Finding(
                check=check,
                state=State.MISSING,
                found=locked.what,
                why=locked.why,
                advice=locked.fix,
                error=type(locked),
            )
        elif others := _others(pinned, locked):
            yield Finding(
                check=check,
                state=State.MISSING,
                found=f"docker/lock/{toolchain.name} does not hold {'; '.join(others)}",
                why="an image is built from the locked packages and fails where they are not what is pinned",
                advice=f"set toolchains.{toolchain.name} in the matrix to what is locked, or, after a change of its "
                "suite or snapshot, .venv/bin/python -m runner lock",
                error=PinMismatch,
            )
        elif moved := _others(pinned, served.get(toolchain.suite) or {}):
            # No action is needed: a build takes the locked packages from the archive of the lock's day.
            yield Finding(
                check=check,
                state=State.WARNING,
                found=f"{toolchain.suite} does not serve {'; '.join(moved)} any more",
                why="the locked packages come from the archive of their day instead, which may be slow",
            )
        else:
            versions = ", ".join(f"{name} {pin}" for name, pin in pinned.items())
            yield Finding(check=check, state=State.OK, found=f"{versions}, as locked")


def _others(pinned: Mapping[str, str], held: Mapping[str, frozenset[str]]) -> list[str]:
    """The pins that differ, each with the known versions. A pin without known versions is left out."""
    return [
        f"{name} {pin} (but {', '.join(sorted(held[name])) or 'none'})"
        for name, pin in pinned.items()
        if name in held and pin not in held[name]
    ]


def _pulled(host_state: HostState) -> bool:
    return all(toolchain.base is not None for toolchain in host_state.wanted.toolchains)


def _by_need(host_state: HostState, name: str, otherwise: Finding) -> Iterator[Finding]:
    """The need of this name as a finding. Only ``needs`` knows what is missing and what installs it."""
    host, foreign = host_state.host, host_state.wanted.foreign
    found = [] if host is None else needs(host, foreign, pulled=_pulled(host_state))
    need = next((each for each in found if each.check.startswith(name)), None)
    if need is None:
        yield otherwise
        return
    yield replace(need, check=otherwise.check)
