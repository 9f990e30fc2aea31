"""Images that this project built, and their base images, found by their names and their label.

An image inherits the labels of the image that it is built on. So a foreign name keeps an image, even with our labels.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from docker.errors import APIError, ImageNotFound

import docker
from runner.daemon.connection import BROKEN_CONNECTION
from runner.daemon.docker_command import plain_name
from runner.host.clean.item import Area, Item
from runner.images.labels import IDENTITY_LABEL

_OURS = ("forge-bench:", "forge-bench-base:")


def find_images(client: docker.DockerClient) -> Area:
    """Our images in a daemon: each named image, and one item for all earlier builds that lost their name."""
    items, stays, nameless = [], [], []
    for image in client.api.images():
        names = [name for name in image.get("RepoTags") or [] if name != "<none>:<none>"]
        ours = [name for name in names if plain_name(name).startswith(_OURS)]
        foreign = [name for name in names if name not in ours]
        labelled = IDENTITY_LABEL in (image.get("Labels") or {})
        if ours:
            # A pulled image also has the digest of its registry, which would keep it.
            digests = [] if foreign else image.get("RepoDigests") or []
            items.append(_item(client, ", ".join(ours), [image], [*ours, *digests]))
        elif labelled and not names:
            nameless.append(image)
        if foreign and (ours or labelled):
            stays.append(f"{', '.join(foreign)}: a foreign name (docker rmi NAME)")
    if nameless:
        identifiers = [str(image["Id"]) for image in nameless]
        items.append(_item(client, "earlier builds that have no name any more", nameless, identifiers))
    return Area(name="images", items=tuple(items), stays=tuple(stays))


def _item(
    client: docker.DockerClient, name: str, images: Sequence[Mapping[str, Any]], references: Sequence[str]
) -> Item:
    return Item(
        name=name,
        count=len(images),
        size_bytes=sum(int(image.get("Size") or 0) for image in images),
        remove=partial(_remove, client, tuple(references)),
    )


def _remove(client: docker.DockerClient, references: Sequence[str]) -> str | None:
    """Remove an image, never by force: any container may still use it."""
    problem = None
    for reference in references:
        try:
            client.api.remove_image(reference)
        except ImageNotFound:
            continue
        except APIError as error:
            problem = str(error.explanation or error)
        except BROKEN_CONNECTION as error:
            return str(error)
    return problem
