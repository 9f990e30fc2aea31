"""Our images are found by their names, also where Podman writes its own words before them."""

from types import SimpleNamespace
from typing import Any, cast

import docker
from runner.host.clean.images import find_images
from runner.images.labels import IDENTITY_LABEL


def _client(*images: dict[str, Any]) -> tuple[docker.DockerClient, list[str]]:
    """A daemon with these images, and the references that were removed."""
    removed: list[str] = []
    api = SimpleNamespace(images=lambda: list(images), remove_image=removed.append)
    return cast("docker.DockerClient", SimpleNamespace(api=api)), removed


def test_images_are_ours_under_the_names_that_podman_gives_them() -> None:
    client, removed = _client(
        {"Id": "a", "RepoTags": ["localhost/forge-bench:core-trixie-arm64"], "Size": 5},
        {"Id": "b", "RepoTags": ["docker.io/library/forge-bench-base:trixie-arm64"], "Size": 7},
        {"Id": "c", "RepoTags": ["docker.io/library/debian:13"], "Size": 11},
    )
    found = find_images(client)
    assert [(item.name, item.size_bytes) for item in found.items] == [
        ("localhost/forge-bench:core-trixie-arm64", 5),
        ("docker.io/library/forge-bench-base:trixie-arm64", 7),
    ]
    assert [item.remove() for item in found.items] == [None, None]
    assert removed == [item.name for item in found.items]


def test_an_image_of_ours_with_a_foreign_name_stays_under_that_name() -> None:
    client, removed = _client(
        {
            "Id": "a",
            "RepoTags": ["forge-bench:core-trixie-amd64", "quay.io/mine/forge-bench:1"],
            "Labels": {IDENTITY_LABEL: "1"},
            "RepoDigests": ["quay.io/mine/forge-bench@sha256:1"],
            "Size": 5,
        }
    )
    found = find_images(client)
    assert found.stays == ("quay.io/mine/forge-bench:1: a foreign name (docker rmi NAME)",)
    assert [item.remove() for item in found.items] == [None]
    assert removed == ["forge-bench:core-trixie-amd64"]
