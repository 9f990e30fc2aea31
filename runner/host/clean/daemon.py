"""Everything of ours that a daemon holds: containers, images and the steps of builds."""

from collections.abc import Collection, Mapping
from functools import partial
from pathlib import Path

import docker
from runner.host.clean.cache import Step, layers_gone, ours, prune, steps_of
from runner.host.clean.containers import find_containers
from runner.host.clean.images import find_images
from runner.host.clean.item import Area, Item
from runner.host.connection import BROKEN_CONNECTION, connect

# For its cache a daemon adds up the sizes of all that it holds: seconds with overlay2, minutes with fuse-overlayfs.
_SECONDS = 300


def find_on_daemon(root: Path, wanted: Collection[str]) -> tuple[Area, ...]:
    """The areas of these names (containers, images, cache), in the order in which they are to be emptied.

    Args:
        root: the checkout, whose Dockerfile's scripts are known by their names.
        wanted: which areas.

    Raises:
        DockerUnavailable: no daemon answers.
    """
    client, _ = connect(timeout=_SECONDS)
    found = []
    if "containers" in wanted:
        found.append(find_containers(client))
    if "images" in wanted:
        found.append(find_images(client))
    if "cache" in wanted:
        scripts = tuple(path.name for path in (root / "docker").iterdir() if path.suffix in (".sh", ".py"))
        found.append(_find_cache(client, scripts))
    return tuple(found)


def _find_cache(client: docker.DockerClient, scripts: tuple[str, ...]) -> Area:
    try:
        steps = steps_of(client.df()["BuildCache"])
    except BROKEN_CONNECTION as error:
        return Area(
            name="cache",
            stays=(
                f"the build cache, which could not be looked at: {' '.join(str(error).split())[:200]} "
                "(docker builder prune removes all of it, whoever made it)",
            ),
        )
    found = ours(steps, scripts)
    names = {step.identifier for step in found}
    rest = sum(step.size_bytes for step in steps.values() if step.identifier not in names)
    item = Item(
        name="steps of forge-bench builds, and those that are left of its images",
        count=len(found),
        # A layer that an image shares is counted with the image.
        size_bytes=sum(step.size_bytes for step in found if not step.shared),
        remove=partial(_prune, client, scripts, steps),
    )
    # Layers of our images can be told from others' only when the images have gone.
    shared = any(step.shared for step in steps.values())
    return Area(
        name="cache",
        items=(item,) if found or shared else (),
        stays=(
            f"of the build cache up to {rest / 1e6:.0f} MB: what other images share, and what cannot be told from "
            "other projects' builds (docker builder prune removes all of it, whoever made it)",
        )
        if rest
        else (),
    )


def _prune(client: docker.DockerClient, scripts: tuple[str, ...], before: Mapping[str, Step]) -> str | None:
    """With images that have just gone, what was kept of the cache as their layers goes too."""
    try:
        after = steps_of(client.df()["BuildCache"])
    except BROKEN_CONNECTION as error:
        return " ".join(str(error).split())[:200]
    prune(client, ours(after, scripts, also=layers_gone(before, after)))
    return None
