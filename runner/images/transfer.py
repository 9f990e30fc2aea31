"""An image, streamed from this machine's daemon to another's."""

import os
import time
from collections.abc import Callable
from pathlib import Path

from runner.daemon.client import pipe_client
from runner.daemon.docker_command import inspect_images
from runner.daemon.endpoint import Endpoint, current_endpoint
from runner.images.build import image_of
from runner.images.identity import identify
from runner.images.inspected import identity_of
from runner.images.spec import Image, ImageSpec
from runner.system.errors import DockerUnavailable


def ensure_there(
    spec: ImageSpec,
    there: Endpoint,
    *,
    root: Path,
    own_image: Callable[[ImageSpec, Callable[[str], None]], Image],
    say: Callable[[str], None],
) -> Image:
    """The image of ``spec`` on another daemon. It is made here and streamed only where that daemon lacks it.

    Args:
        spec: the image.
        there: the daemon.
        root: the checkout, whose files the image's identity follows from.
        own_image: makes or finds the image on this machine's daemon.
        say: takes a line about what is done.

    Raises:
        DockerUnavailable: it did not arrive.
    """
    identity = identify(spec, root)
    found = inspect_images([spec.tag], at=there).get(spec.tag)
    if identity_of(found) != identity.identity:
        own_image(spec, say)
        say(f"sending {spec.tag}")
        began = time.monotonic()
        _stream(spec.tag, there)
        say(f"sent {spec.tag} in {time.monotonic() - began:.0f} s")
        found = inspect_images([spec.tag], at=there).get(spec.tag)
    if found is None or identity_of(found) != identity.identity:
        raise _lost(spec.tag, "the daemon there has another image of that name")
    return image_of(spec, identity, found, None)


def _stream(tag: str, there: Endpoint) -> None:
    """``docker save`` here into ``docker load`` there: no disk holds the archive."""
    sent, arrived = pipe_client(
        ("image", "save", tag),
        current_endpoint().environment(os.environ),
        ("image", "load", "--quiet"),
        there.environment(os.environ),
    )
    if sent != 0 or arrived.returncode != 0:
        raise _lost(tag, " ".join(arrived.stderr.split())[-300:] or "it could not be read here")


def _lost(tag: str, why: str) -> DockerUnavailable:
    return DockerUnavailable(
        what=f"{tag} did not arrive on the other machine",
        why=why,
        fix="see that it has room (docker info there), and run again",
    )
