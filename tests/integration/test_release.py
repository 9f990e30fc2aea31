"""What the release workflow pushes: one index a target, and each platform's image by a digest of its own."""

import json
import subprocess
from collections.abc import Iterator

import pytest
from conftest import ROOT, docker
from small_images import build, forget

SCRIPTS = ROOT / ".github" / "scripts"
BUILT = (("core", "amd64"), ("core", "arm64"), ("peers", "amd64"))
NAME = "forge-bench-release-test"


@pytest.fixture
def built() -> Iterator[str]:
    """What ``build`` prints of images that are as small as images can be."""
    lines = []
    for target, architecture in BUILT:
        tag = f"{NAME}:{target}-{architecture}"
        build(tag, architecture, f"FROM scratch\nWORKDIR /{target}-{architecture}\n")
        digest = docker("image", "inspect", "--format", "{{.Id}}", tag).stdout.strip()
        lines.append(f"{target} {architecture} {digest}")
    yield "\n".join(lines) + "\n"
    forget(*(f"{NAME}:{target}-{architecture}" for target, architecture in BUILT))


def push(repository: str, lines: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [SCRIPTS / "push_images.sh", repository, "0.9.0"],
        input=lines, capture_output=True, text=True, check=False,
    )  # fmt: skip


def test_images_are_pushed_and_joined_and_each_platform_runs_by_its_own_digest(registry, built, tmp_path):
    try:
        result = push(registry, built)
        assert result.returncode == 0, result.stderr
        rows = [line.split("\t") for line in result.stdout.splitlines()]
        assert [row[:2] for row in rows] == [
            ["core", "index"], ["core", "linux/amd64"], ["core", "linux/arm64"],
            ["peers", "index"], ["peers", "linux/amd64"],
        ]  # fmt: skip
        for target, platform, digest in rows:
            found = json.loads(
                docker("buildx", "imagetools", "inspect", "--raw", f"{registry}@{digest}").stdout
            )
            assert ("manifests" in found) == (platform == "index"), target
        latest = docker(
            "buildx", "imagetools", "inspect", "--format", "{{json .Manifest}}", f"{registry}:latest"
        )
        assert json.loads(latest.stdout)["digest"] == rows[0][2]
        digests = tmp_path / "digests.tsv"
        digests.write_text(result.stdout)
        platforms = subprocess.run(
            [SCRIPTS / "release.py", "platforms", digests], capture_output=True, text=True, check=True
        )
        assert [each["architecture"] for each in json.loads(platforms.stdout)] == ["amd64", "arm64", "amd64"]
    finally:
        forget(*(f"{registry}:0.9.0-{target}-{architecture}" for target, architecture in BUILT))


def test_an_image_that_is_not_there_ends_the_release(registry):
    result = push(registry, f"core amd64 sha256:{'0' * 64}\n")
    assert result.returncode != 0
    assert result.stdout == ""
