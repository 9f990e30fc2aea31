"""Containers of a launch. All their rights and limits stand in this module."""

import contextlib
import math
from collections.abc import Mapping, Sequence
from concurrent.futures import Future

from docker.models.containers import Container
from docker.types import LogConfig, Mount, Ulimit

import docker
from runner.daemon.connection import BROKEN_CONNECTION
from runner.executors.outputs import most_bytes
from runner.matrix import Limits
from runner.system.errors import ClientMisconfigured
from runner.system.meanwhile import meanwhile
from runner.system.printable import one_line
from runner.system.signals import uninterrupted

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
    executable_tmp: bool = False,
    stdin_open: bool = False,
    deadline_seconds: float | None = None,
) -> Container:
    """A confined container that is not started yet. Nothing but its identifier is known of it.

    `require_environment` has to see its variables before it is started. With ``executable_tmp`` it may execute what it
    writes to /tmp. With ``stdin_open`` it has a stdin to attach to. The runner kills it at its ``deadline_seconds``.
    Where the connection is broken by then, the kernel there kills a process that has computed for so long.

    Raises:
        docker.errors.APIError: the daemon refuses it.
    """
    # These calls spread no dictionary of unknown origin: they show all that a container may do.
    host = client.api.create_host_config(
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
        tmpfs={"/tmp": f"size=256m,mode=1777{',exec' if executable_tmp else ''}"},  # noqa: S108 (inside the container)
        mounts=list(mounts),
        log_config=LogConfig(type="none"),
    )
    created = client.api.create_container(
        image,
        entrypoint=list(command[:1]),
        command=list(command[1:]),
        name=name,
        labels=dict(labels),
        user=f"{USER}:{USER}",
        # Closed for good once the program that is attached to it has gone.
        stdin_open=stdin_open,
        environment=dict(environment),
        host_config=host,
        # The client's proxies may hold a password, and a launch has no network.
        use_config_proxy=False,
    )
    return Container(attrs={"Id": created["Id"]}, client=client, collection=client.containers)


class Removal:
    """The removal of a container. A thread may begin it while the launch is not over."""

    def __init__(self, container: Container) -> None:
        self._container = container
        self._begun: Future[None] | None = None

    def begin(self) -> None:
        """Begin, and wait for nothing."""
        self._begun = meanwhile(self._remove)

    def finish(self) -> None:
        """Return when it is removed. An interrupt waits for that."""
        with uninterrupted():
            if self._begun is None:
                self._remove()
            else:
                self._begun.result()

    def _remove(self) -> None:
        with contextlib.suppress(*BROKEN_CONNECTION):
            self._container.remove(force=True, v=True)


def _processor_time(deadline_seconds: float | None, limits: Limits) -> tuple[Ulimit, ...]:
    """No process can use more processor time within its deadline than its CPUs have."""
    if deadline_seconds is None:
        return ()
    seconds = math.ceil(deadline_seconds * limits.cpus + _LATE_SECONDS)
    return (Ulimit(name="cpu", soft=seconds, hard=seconds),)


def require_environment(container: Container, of_image: Sequence[str], ours: Mapping[str, str]) -> None:
    """Ask for all that is known of a container, and check that it got only the image's variables and the runner's.

    Raises:
        docker.errors.APIError: the daemon does not say it.
        ClientMisconfigured: it got other variables.
    """
    container.reload()
    got = _variables(container.attrs["Config"].get("Env"))
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
