"""Images are known by the names that they were asked for, whatever the daemon calls them."""

import json
import subprocess
from typing import Any

import pytest

from runner.daemon import docker_command

ASKED = ["forge-bench:core-trixie-arm64", "forge-bench:edge-trixie-arm64"]


def inspected(monkeypatch: pytest.MonkeyPatch, *tags: str) -> dict[str, dict[str, Any]]:
    """What is found where the daemon has an image with each of these names."""
    images = json.dumps([{"RepoTags": [tag]} for tag in tags])
    answer = subprocess.CompletedProcess(("docker",), 0, images, "")
    monkeypatch.setattr(docker_command, "docker", lambda *_, **__: answer)
    return docker_command.inspect_images(ASKED)


def test_docker_has_an_image_by_the_name_that_was_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    assert inspected(monkeypatch, *ASKED).keys() == {*ASKED}


# Podman 5.4.2 on Debian 13 wrote these.
@pytest.mark.parametrize("prefix", ["localhost/", "docker.io/library/"])
def test_podman_writes_a_registry_before_the_name(monkeypatch: pytest.MonkeyPatch, prefix: str) -> None:
    assert inspected(monkeypatch, f"{prefix}{ASKED[0]}").keys() == {ASKED[0]}


def test_a_name_in_a_registry_is_another_image(monkeypatch: pytest.MonkeyPatch) -> None:
    assert inspected(monkeypatch, f"ghcr.io/somebody/{ASKED[0]}") == {}
