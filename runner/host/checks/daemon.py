"""Whether Docker is there, answers, and holds launches to their limits."""

from collections.abc import Iterator

from runner.daemon.enforced_limits import enforced_by
from runner.daemon.unavailable import command_for
from runner.daemon.whereabouts import Whereabouts
from runner.host.finding import Finding, State, skipped
from runner.host.state import HostState
from runner.system.errors import DockerForbidden, DockerMissing, DockerUnavailable
from runner.system.root import SUDO

_WITHOUT = "without Docker, for what this host can run: python -m runner --executor local"


def docker_command(host_state: HostState) -> Iterator[Finding]:
    """Whether there is a docker command."""
    if host_state.daemon is None:
        why = (
            "inside an image launches are processes: no container is started from here"
            if host_state.inside_image
            else "the local executor starts processes and no containers"
        )
        yield Finding(check="docker", state=State.SKIPPED, found="not needed", why=why)
        return
    check, problem = "docker command", host_state.daemon.problem
    if host_state.daemon.client is not None:
        yield Finding(check=check, state=State.OK, found=host_state.daemon.client)
    elif problem is not None:
        host = host_state.host
        absent = host is not None and not host.has_docker
        install = (f"{SUDO}apt-get install docker.io",) if host is not None and host.has_apt else ()
        yield Finding(
            check=check,
            state=State.MISSING,
            found=problem.what,
            why=problem.why,
            commands=install if absent else (command_for(problem, ""),),
            advice=f"install Docker Engine or Docker Desktop; {_WITHOUT}",
            error=DockerMissing,
        )


def docker_daemon(host_state: HostState) -> Iterator[Finding]:
    """Whether a daemon answers, and whether this user may use it.

    These are two lines, because the remedies differ.
    """
    daemon = host_state.daemon
    if daemon is None:
        return
    check, right = "docker daemon", "docker permission"
    if daemon.problem is None:
        version = daemon.information.get("ServerVersion", "")
        yield Finding(check=check, state=State.OK, found=f"{version} at {daemon.host}")
        yield Finding(check=right, state=State.OK, found="this user may speak to it")
    elif daemon.client is None:
        yield skipped(check, "there is no docker command to ask with")
    elif isinstance(daemon.problem, DockerForbidden):
        yield skipped(check, f"something listens at {daemon.host}, and this user may not ask it")
        yield _trouble(right, daemon.problem, daemon.host)
    else:
        yield _trouble(check, daemon.problem, daemon.host)
        yield skipped(right, "no daemon answers")


def containers_machine(host_state: HostState) -> Iterator[Finding]:
    """Whether the runner can inspect the machine that containers run on. Only a failed check prints a line."""
    if host_state.daemon is None or host_state.daemon.place is not Whereabouts.ELSEWHERE:
        return
    yield Finding(
        check="machine of the containers",
        state=State.WARNING,
        found="another one than this",
        why="the runner cannot inspect it: times are of unknown execution, and unranked",
        advice="run forge-bench on that machine",
    )


def docker_library(host_state: HostState) -> Iterator[Finding]:
    """Whether the runner's own Python has the Docker SDK."""
    if host_state.daemon is None:
        return
    if host_state.daemon.sdk is None:
        yield Finding(check="docker library", state=State.OK, found="the Docker SDK for Python")
    else:
        yield Finding(
            check="docker library",
            state=State.MISSING,
            found="no Docker SDK in the Python that runs forge-bench",
            why=host_state.daemon.sdk,
            commands=("make setup",),
        )


def container_limits(host_state: HostState) -> Iterator[Finding]:
    """Whether the daemon's kernel enforces the limits of a launch."""
    if host_state.daemon is None or not host_state.daemon.information:
        return
    said = host_state.daemon.information
    names = {"cpuset": "the CPU set", "memory_bytes": "memory", "pids": "the number of processes"}
    if host_state.machine.swap_bytes:
        names["swap"] = "swap"
    enforced = enforced_by(said)
    lacking = [words for name, words in names.items() if name not in enforced]
    if not lacking:
        version = said.get("CgroupVersion", "")
        yield Finding(check="limits", state=State.OK, found=f"enforced by cgroup v{version}")
        return
    swap = "swap" in lacking
    yield Finding(
        check="limits",
        state=State.WARNING,
        found=f"not enforced: {', '.join(lacking)}",
        why="this kernel or a rootless daemon without delegation does not limit them: a launch may exceed them, "
        "and what swaps is slow",
        commands=(f"{SUDO}swapoff -a",) if swap else (),
        advice="boot with cgroup_enable=memory swapaccount=1" if swap else "use cgroup v2 with delegation",
    )


def _trouble(check: str, problem: DockerUnavailable, host: str) -> Finding:
    return Finding(
        check=check,
        state=State.MISSING,
        found=problem.what,
        why=problem.why,
        commands=(command_for(problem, host),),
        advice=_WITHOUT,
        error=type(problem),
    )
