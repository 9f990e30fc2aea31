"""Containers of a launch, with everything that they may and may not do in one place."""

from collections.abc import Mapping, Sequence

from docker.models.containers import Container
from docker.types import LogConfig, Mount, Ulimit

import docker
from runner.executors.outputs import most_bytes
from runner.matrix import Limits

USER = 65532


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
) -> Container:
    """A container that is confined and not started yet.

    With ``executable_tmp`` it may execute what it writes to /tmp.

    Raises:
        docker.errors.APIError: the daemon refuses it.
    """
    # No dictionary of unknown origin is spread in here: what a container may do is all in this call.
    return client.containers.create(
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
        # A core dump would be written by the host, and a file with a hole of a terabyte read back by it.
        ulimits=[
            Ulimit(name="core", soft=0, hard=0),
            Ulimit(name="fsize", soft=most_bytes(limits), hard=most_bytes(limits)),
        ],
        init=True,
        tmpfs={"/tmp": f"size=256m,mode=1777{',exec' if executable_tmp else ''}"},  # noqa: S108 (inside the container)
        mounts=list(mounts),
        environment=dict(environment),
        log_config=LogConfig(type="none"),
    )
