"""Containers of a launch. All their rights and limits stand in this module."""

import math
from collections.abc import Mapping, Sequence

from docker.models.containers import Container
from docker.types import LogConfig, Mount, Ulimit

import docker
from runner.executors.outputs import most_bytes
from runner.matrix import Limits
from runner.system.errors import ClientMisconfigured
from runner.system.printable import one_line

USER = 65532
# The variables that some daemons store at creation, and others add when the container starts.
_OF_DAEMON = frozenset({"PATH", "HOSTNAME", "HOME", "TERM", "container"})
_LONGEST = 300
# The runner, which is asked first, needs some time to kill.
_LATE_SECONDS = 60.0


def create_container(
    client: docker.DockerClient,
    *,
    image: str,
    command: Sequence[str],
    name: str,
    labels: Mapping[str, str],
    limits: Limits,
    cpuset: str | None,
    mounts: Sequence[Mount],
    environment: Mapping[str, str],
    of_image: Sequence[str],
    executable_tmp: bool = False,
    stdin_open: bool = False,
    deadline_seconds: float | None = None,
) -> Container:
    """A confined container that is not started yet.

    Its variables are those ``of_image`` and those in ``environment``. With ``executable_tmp`` it may execute what it
    writes to /tmp. With ``stdin_open`` it has a stdin to attach to. The runner kills it at its ``deadline_seconds``.
    Where the connection is broken by then, the kernel there kills a process that has computed for so long.

    Raises:
        docker.errors.APIError: the daemon refuses it.
        ClientMisconfigured: it got other variables.
    """
    # This call spreads no dictionary of unknown origin: it shows all that a container may do.
    container = client.containers.create(
        image,
        entrypoint=list(command[:1]),
        command=list(command[1:]),
        name=name,
        labels=dict(labels),
        user=f"{USER}:{USER}",
        network_mode="none",
        read_only=True,
        cap_drop=["ALL"],
        security_opt=["no-new-privileges"],
        cpuset_cpus=cpuset,
        mem_limit=limits.memory_bytes,
        memswap_limit=limits.memory_bytes,
        pids_limit=limits.pids,
        # The host would write a core dump, and would read back a file with a hole of a terabyte.
        ulimits=[
            Ulimit(name="core", soft=0, hard=0),
            Ulimit(name="fsize", soft=most_bytes(limits), hard=most_bytes(limits)),
            *_processor_time(deadline_seconds, limits),
        ],
        init=True,
        # Closed for good once the program that is attached to it has gone.
        stdin_open=stdin_open,
        tmpfs={"/tmp": f"size=256m,mode=1777{',exec' if executable_tmp else ''}"},  # noqa: S108 (inside the container)
        mounts=list(mounts),
        environment=dict(environment),
        log_config=LogConfig(type="none"),
        # The client's proxies may hold a password, and a launch has no network.
        use_config_proxy=False,
    )
    try:
        _require_environment(container.attrs["Config"].get("Env"), of_image, environment)
    except BaseException:
        container.remove(force=True, v=True)
        raise
    return container


def _processor_time(deadline_seconds: float | None, limits: Limits) -> tuple[Ulimit, ...]:
    """No process can use more processor time within its deadline than its CPUs have."""
    if deadline_seconds is None:
        return ()
    seconds = math.ceil(deadline_seconds * limits.cpus + _LATE_SECONDS)
    return (Ulimit(name="cpu", soft=seconds, hard=seconds),)


def _require_environment(
    found: Sequence[str] | None, of_image: Sequence[str], ours: Mapping[str, str]
) -> None:
    """Check that a container got only the image's variables and the runner's."""
    got = _variables(found)
    expected = {**_variables(of_image), **ours}
    different = sorted(name for name in got.keys() | expected.keys() if got.get(name) != expected.get(name))
    if unexplained := [name for name in different if name in expected or name not in _OF_DAEMON]:
        raise ClientMisconfigured(
            what="a container got other variables than its image's and the runner's",
            # The message shows only names, because a value may be a password.
            why=f"{one_line(', '.join(unexplained), _LONGEST)}: added or changed by Docker's client or daemon",
            fix="remove them from the configuration of the client (~/.docker/config.json) or of the daemon",
        )


def _variables(listed: Sequence[str] | None) -> dict[str, str]:
    return dict(each.partition("=")[::2] for each in listed or ())
