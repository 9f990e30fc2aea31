"""All things of this project that a daemon holds: containers, images and build steps."""

from collections.abc import Collection, Mapping
from functools import partial
from pathlib import Path

import requests

import docker
from runner.daemon.connection import BROKEN_CONNECTION, connect
from runner.host.clean.cache import Step, layers_gone, ours, prune, steps_of
from runner.host.clean.containers import find_containers
from runner.host.clean.images import find_images
from runner.host.clean.item import Area, Item

# Removing a large image takes minutes on some storage drivers.
_SECONDS = 300
# A daemon adds up the sizes of its cache. That takes seconds with overlay2, and may never end with fuse-overlayfs.
_ACCOUNTING_SECONDS = 60.0


def find_on_daemon(root: Path, wanted: Collection[str]) -> tuple[Area, ...]:
    """The areas of these names (containers, images, cache), in the order of removal.

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
        steps = _steps(client)
    except BROKEN_CONNECTION as error:
        return Area(
            name="cache",
            stays=(
                f"the build cache, which could not be looked at: {_why(error)} "
                "(docker builder prune removes all of it, of every project)",
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
    # Layers of our images can be told from others' only after the images were removed.
    shared = any(step.shared for step in steps.values())
    return Area(
        name="cache",
        items=(item,) if found or shared else (),
        stays=(
            f"of the build cache up to {rest / 1e6:.0f} MB: what other images share, and what cannot be told from "
            "other projects' builds (docker builder prune removes all of it, of every project)",
        )
        if rest
        else (),
    )


def _prune(client: docker.DockerClient, scripts: tuple[str, ...], before: Mapping[str, Step]) -> str | None:
    """Remove the steps that were kept as layers of images that have just been removed."""
    # Without the daemon's answer, the steps that were known before can still be removed.
    after, problem = before, None
    try:
        after = _steps(client)
    except BROKEN_CONNECTION as error:
        problem = f"layers of the images that have just gone: {_why(error)}"
    prune(client, ours(after, scripts, also=layers_gone(before, after)))
    return problem


def _steps(client: docker.DockerClient) -> dict[str, Step]:
    """The records of the daemon's build cache, read in bounded time.

    Raises:
        BROKEN_CONNECTION: it does not say.
    """
    api = client.api
    # Daemons before interface 1.42 always add up everything.
    answer = api.get(
        f"{api.base_url}/v{api.api_version}/system/df",
        params={"type": "build-cache"},
        timeout=_ACCOUNTING_SECONDS,
    )
    answer.raise_for_status()
    return steps_of(answer.json()["BuildCache"])


def _why(error: Exception) -> str:
    if isinstance(error, requests.Timeout):
        return f"the daemon did not add up its sizes within {_ACCOUNTING_SECONDS:.0f} s"
    return " ".join(str(error).split())[:200]
