"""Images of a release, pulled by digest out of a real registry; each image is as small as images can be."""

import io
import json
import subprocess
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import FOREIGN, HOST, docker
from small_images import forget

from runner.images.identity import Identity
from runner.images.labels import EXECUTION_HASH_LABEL, IDENTITY_LABEL, TARGET_LABEL
from runner.images.reference import inspect
from runner.images.released import Released, pull_released, write_released
from runner.images.spec import ImageSpec
from runner.matrix.images import OURS
from runner.matrix.toolchain import Toolchain

IDENTITY = Identity(identity="1" * 64, execution_hash="2" * 64)
SPEC = ImageSpec(
    target=OURS["core"],
    architecture=HOST,
    toolchain=Toolchain(name="trixie", suite="trixie", rust="1.96.0", python="3.13.5", pytorch="2.6.0"),
)


def push(reference: str, identity: Identity) -> str:
    """Make, push and forget an image with these labels; returns the digest that the registry gave it."""
    layer = io.BytesIO()
    with tarfile.open(fileobj=layer, mode="w") as archive:
        file = tarfile.TarInfo("reference")
        file.size = len(reference)
        archive.addfile(file, io.BytesIO(reference.encode()))
    labels = {
        TARGET_LABEL: "core",
        IDENTITY_LABEL: identity.identity,
        EXECUTION_HASH_LABEL: identity.execution_hash,
    }
    changes = [word for name, value in labels.items() for word in ("--change", f"LABEL {name}={value}")]
    made = subprocess.run(
        ["docker", "import", *changes, "-", reference],
        input=layer.getvalue(), capture_output=True, check=False,
    )  # fmt: skip
    assert made.returncode == 0, made.stderr
    assert docker("push", "--quiet", reference).returncode == 0
    said = docker("buildx", "imagetools", "inspect", "--format", "{{json .Manifest}}", reference)
    digest = json.loads(said.stdout)["digest"]
    forget(reference, f"{reference.rpartition(':')[0]}@{digest}")
    return digest


@pytest.fixture(scope="module")
def ours(registry) -> Iterator[str]:
    """The digest of the image that is wanted."""
    digest = push(f"{registry}:ours", IDENTITY)
    yield digest
    forget(f"{registry}@{digest}")


def pull(root: Path, repository: str, digest: str) -> tuple[str | None, str]:
    entry = Released(target="core", architecture=HOST, identity=IDENTITY.identity, digest=digest)
    write_released(root, [entry])
    said: list[str] = []
    found = pull_released(SPEC, IDENTITY, root=root, registry=repository, say=said.append)
    return found, said[-1]


def test_an_image_is_pulled_by_the_committed_digest_and_known_by_it_afterwards(
    registry,
    ours,
    tmp_path,
):
    found, _ = pull(tmp_path, registry, ours)
    assert found is not None
    assert f"{registry}@{ours}" in inspect(found)["RepoDigests"]
    forget(f"{registry}@{ours}")
    assert inspect(found) is None


def test_the_digest_of_another_image_is_refused_and_not_transferred(registry, tmp_path):
    other = push(f"{registry}:other", Identity(identity="9" * 64, execution_hash="2" * 64))
    found, said = pull(tmp_path, registry, other)
    assert found is None
    assert "is refused" in said
    assert "999999999999" in said
    assert inspect(f"{registry}@{other}") is None


def test_an_image_of_another_architecture_is_refused(registry, ours, tmp_path):
    entry = Released(target="core", architecture=FOREIGN, identity=IDENTITY.identity, digest=ours)
    write_released(tmp_path, [entry])
    said: list[str] = []
    spec = ImageSpec(target=OURS["core"], architecture=FOREIGN, toolchain=SPEC.toolchain)
    assert pull_released(spec, IDENTITY, root=tmp_path, registry=registry, say=said.append) is None
    assert f"it is core {HOST}" in said[-1]


def test_bytes_that_are_not_those_of_the_digest_are_refused_by_docker(
    registry,
    registry_directory,
    tmp_path,
):
    identity = Identity(identity="1" * 64, execution_hash="2" * 64)
    digest = push(f"{registry}:altered", identity)
    manifest = json.loads(docker("buildx", "imagetools", "inspect", "--raw", f"{registry}@{digest}").stdout)
    name = manifest["layers"][0]["digest"].partition(":")[2]
    (blob,) = registry_directory.glob(f"data/**/{name}/data")
    before = blob.read_bytes()
    blob.write_bytes(before[:-1] + bytes([before[-1] ^ 1]))
    try:
        found, said = pull(tmp_path, registry, digest)
    finally:
        blob.write_bytes(before)
    assert found is None
    assert "will be built" in said
    assert inspect(f"{registry}@{digest}") is None


@pytest.mark.parametrize("where", ["absent", "away"])
def test_an_image_or_a_registry_that_is_not_there_leads_to_a_build(registry, ours, tmp_path, where):
    repository = registry if where == "absent" else "127.0.0.1:1/forge-bench"
    digest = f"sha256:{'0' * 64}" if where == "absent" else ours
    found, said = pull(tmp_path, repository, digest)
    assert found is None
    assert "will be built" in said
    assert ("not found" if where == "absent" else "refused") in said
