"""Containers and volumes of dead runners."""

from functools import partial

from docker.errors import NotFound

import docker
from runner.daemon.connection import BROKEN_CONNECTION
from runner.executors.sweep import OWNER_LABEL, find_remains
from runner.host.clean.item import Area, Item


def find_containers(client: docker.DockerClient) -> Area:
    """The containers and volumes that no living runner uses. The others stay."""
    remains = find_remains(client)
    everything = client.api.containers(all=True, filters={"label": OWNER_LABEL})
    in_use = len(everything) - len(remains.containers)
    return Area(
        name="containers",
        items=(
            *(
                Item(name=f"container {each[:12]}", remove=partial(_remove_container, client, each))
                for each in remains.containers
            ),
            *(
                Item(name=f"volume {each[:24]}", remove=partial(_remove_volume, client, each))
                for each in remains.volumes
            ),
        ),
        stays=(f"{in_use} containers: their runner is at work, or cannot be judged from here",)
        if in_use
        else (),
    )


def _remove_container(client: docker.DockerClient, identifier: str) -> str | None:
    try:
        client.api.remove_container(identifier, v=True, force=True)
    except NotFound:
        return None
    except BROKEN_CONNECTION as error:
        return str(error)
    return None


def _remove_volume(client: docker.DockerClient, name: str) -> str | None:
    try:
        client.api.remove_volume(name)
    except NotFound:
        # The volume was removed with its container.
        return None
    except BROKEN_CONNECTION as error:
        return str(error)
    return None
