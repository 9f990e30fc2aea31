"""What the daemon's facts about an image say of its identity and of its digest in a registry."""

import re
from collections.abc import Mapping
from typing import Any

from runner.images.labels import IDENTITY_LABEL

# A registry is named by a first part with a dot, a port, or localhost; anything else is a local name as well.
REGISTRY = re.compile(r"(localhost|[^/]*[.:][^/]*)/")


def identity_of(image: Mapping[str, Any] | None) -> str | None:
    """The identity on an image's label; None where the daemon has no such image or label."""
    labels = (image or {}).get("Config", {}).get("Labels") or {}
    value = labels.get(IDENTITY_LABEL)
    return None if value is None else str(value)


def manifest_digest_of(image: Mapping[str, Any]) -> str | None:
    """A registry's digest of an image of the daemon; None where no registry is known to have it.

    Docker's containerd store knows every image by its manifest, also one that was only built, under a name without a
    registry.
    """
    for each in image.get("RepoDigests") or []:
        repository, _, digest = str(each).partition("@")
        if digest != image["Id"] or REGISTRY.match(repository):
            return digest
    return None
