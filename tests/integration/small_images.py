"""Images that tests make, as small as images can be, and take away again."""

import subprocess

from conftest import docker

from runner.images.build import builder


def build(tag: str, architecture: str, dockerfile: str) -> None:
    result = subprocess.run(
        ["docker", "buildx", "build", "--builder", builder(), "--platform", f"linux/{architecture}",
         "--provenance=false", "--tag", tag, "-"],
        input=dockerfile, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert result.returncode == 0, result.stderr


def forget(*tags: str) -> None:
    docker("image", "rm", *tags)
