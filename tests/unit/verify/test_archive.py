"""What a file that is said to be an image archive is taken for, before any daemon sees it."""

import gzip
import hashlib
import io
import json
import os
import tarfile
from pathlib import Path
from typing import Any

import pytest

from runner.daemon.endpoint import current_endpoint
from runner.images.archive import write_alone
from runner.images.reference import Candidate, candidates, obtain
from runner.records.image import ImageFacts
from runner.system.errors import ImageNotFound

CONFIGURATION = {
    "architecture": "arm64",
    "config": {
        "Labels": {
            "forge-bench.target": "core",
            "forge-bench.identity": "1" * 64,
            "forge-bench.execution-hash": "2" * 64,
        }
    },
}


def archive(path: Path, files: dict[str, Any], mode: str = "w") -> Path:
    with tarfile.open(path, mode) as file:
        for name, content in files.items():
            data = content if isinstance(content, bytes) else json.dumps(content).encode()
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            file.addfile(entry, io.BytesIO(data))
    return path


def saved(config: str = "blobs/sha256/whatever", configuration: Any = CONFIGURATION) -> dict[str, Any]:
    return {"manifest.json": [{"Config": config, "RepoTags": None, "Layers": []}], config: configuration}


def test_an_image_in_an_archive_is_known_by_what_its_configuration_hashes_to_and_not_by_its_name(tmp_path):
    (found,) = candidates(str(archive(tmp_path / "image.tar", saved(f"{'0' * 64}.json"))), ["arm64"])
    digest = hashlib.sha256(json.dumps(CONFIGURATION).encode()).hexdigest()
    assert found.facts.config_digest == f"sha256:{digest}"
    assert (found.facts.architecture, found.facts.identity) == ("arm64", "1" * 64)
    assert (found.facts.target, found.facts.execution_hash) == ("core", "2" * 64)


def test_a_compressed_archive_is_as_good(tmp_path):
    plain = archive(tmp_path / "image.tar", saved())
    packed = tmp_path / "image.tar.gz"
    packed.write_bytes(gzip.compress(plain.read_bytes()))
    assert [each.facts for each in candidates(str(packed), [])] == [
        each.facts for each in candidates(str(plain), [])
    ]


def test_an_archive_of_several_images_offers_each(tmp_path):
    other = {**CONFIGURATION, "architecture": "amd64"}
    path = archive(
        tmp_path / "both.tar",
        {"manifest.json": [{"Config": "a"}, {"Config": "b"}], "a": CONFIGURATION, "b": other},
    )
    assert [each.facts.architecture for each in candidates(str(path), [])] == ["arm64", "amd64"]


def test_an_image_without_our_labels_is_like_no_other(tmp_path):
    bare = {"architecture": "amd64", "config": {}}
    (found,) = candidates(str(archive(tmp_path / "bare.tar", saved(configuration=bare))), [])
    assert (found.facts.target, found.facts.identity) == ("unknown", None)
    assert found.facts.execution_hash == found.facts.config_digest


@pytest.mark.parametrize(
    "files",
    [
        {},
        {"hello": b"no image"},
        {"manifest.json": b""},
        {"manifest.json": b"{"},
        {"manifest.json": {"Config": "a"}},
        {"manifest.json": [{"Config": 7}]},
        {"manifest.json": [{"Config": "missing"}]},
        {"manifest.json": [{"Config": "a"}], "a": [1]},
        {"manifest.json": [{"Config": "a"}], "a": b"not json"},
    ],
    ids=str,
)
def test_an_archive_of_something_else_is_said_to_be_one(tmp_path, files):
    with pytest.raises(ImageNotFound) as refused:
        candidates(str(archive(tmp_path / "other.tar", files)), ["amd64"])
    assert "docker save" in refused.value.what + refused.value.fix


def test_a_link_that_leads_to_itself_ends(tmp_path):
    with tarfile.open(tmp_path / "loop.tar", "w") as file:
        entry = tarfile.TarInfo("manifest.json")
        entry.type, entry.linkname = tarfile.SYMTYPE, "manifest.json"
        file.addfile(entry)
    with pytest.raises(ImageNotFound):
        candidates(str(tmp_path / "loop.tar"), [])


@pytest.mark.parametrize("keep", [0, 1, 50, 150])
def test_a_file_that_was_cut_off_is_refused(tmp_path, keep):
    path = archive(tmp_path / "image.tar.gz", saved(), "w:gz")
    whole = path.read_bytes()
    assert keep < len(whole) - 8
    path.write_bytes(whole[:keep])
    with pytest.raises(ImageNotFound):
        candidates(str(path), [])


@pytest.mark.parametrize("asked", ["--help", "-v", "a b", "", "sha256:12 34", "näme:latest", "x\n"])
def test_what_can_be_no_image_never_reaches_the_command_line(asked):
    with pytest.raises(ImageNotFound, match="no image"):
        candidates(asked, ["amd64"])


# --- what a daemon is given of an archive ---------------------------------------------------------------------------

LAYERS = {"a/layer.tar": b"one" * 1000, "b/layer.tar": b"two" * 1000}
HASHES = [f"sha256:{hashlib.sha256(each).hexdigest()}" for each in LAYERS.values()]
WANTED = {**CONFIGURATION, "rootfs": {"type": "layers", "diff_ids": HASHES}}
HOSTILE = {**WANTED, "config": {**CONFIGURATION["config"], "Entrypoint": ["/steal"]}}
DIGEST = f"sha256:{hashlib.sha256(json.dumps(WANTED).encode()).hexdigest()}"
HOSTILE_DIGEST = f"sha256:{hashlib.sha256(json.dumps(HOSTILE).encode()).hexdigest()}"
TAKEN = ["forge-bench:latest", "debian:trixie"]


def two_images(path: Path, mode: str = "w") -> Path:
    """The image that is wanted, and one that takes names of others; every file that may name an image does."""
    layers = list(LAYERS)
    index = {"manifests": [{"annotations": {"io.containerd.image.name": TAKEN[0]}}]}
    return archive(
        path,
        {
            **LAYERS,
            "wanted.json": WANTED,
            "hostile.json": HOSTILE,
            "manifest.json": [
                {"Config": "wanted.json", "RepoTags": [TAKEN[1]], "Layers": layers},
                {"Config": "hostile.json", "RepoTags": TAKEN, "Layers": layers},
            ],
            "repositories": {"forge-bench": {"latest": "b"}},
            "index.json": index,
            "oci-layout": {"imageLayoutVersion": "1.0.0"},
        },
        mode,
    )


def content_of(path: Path) -> dict[str, bytes]:
    with tarfile.open(path) as file:
        assert all(each.isreg() for each in file)
        return {each.name: file.extractfile(each).read() for each in file}


@pytest.mark.parametrize("mode", ["w", "w:gz", "w:xz"])
def test_one_image_of_an_archive_is_written_anew_and_no_name_of_any_goes_with_it(tmp_path, mode):
    write_alone(two_images(tmp_path / "both.tar", mode), DIGEST, name="ours:one", into=tmp_path / "alone.tar")
    found = content_of(tmp_path / "alone.tar")
    (entry,) = json.loads(found.pop("manifest.json"))
    assert entry["RepoTags"] == ["ours:one"]
    assert hashlib.sha256(found.pop(entry["Config"])).hexdigest() == DIGEST.partition(":")[2]
    assert [found.pop(each) for each in entry["Layers"]] == list(LAYERS.values())
    # Nothing else that a daemon may read names from.
    assert found == {}


def test_a_layer_may_be_a_link_to_another_as_older_releases_write_it(tmp_path):
    path = two_images(tmp_path / "both.tar")
    with tarfile.open(path, "a") as file:
        entry = tarfile.TarInfo("b/layer.tar")
        entry.type, entry.linkname = tarfile.SYMTYPE, "../a/layer.tar"
        file.addfile(entry)
    write_alone(path, DIGEST, name="ours:one", into=tmp_path / "alone.tar")
    found = content_of(tmp_path / "alone.tar")
    (image,) = json.loads(found["manifest.json"])
    assert [found[each] for each in image["Layers"]] == [LAYERS["a/layer.tar"]] * 2


@pytest.mark.parametrize("layers", [None, ["gone"], ["loop"], ["folder"], [7], "a"])
def test_an_image_that_is_not_whole_is_refused(tmp_path, layers):
    path = archive(
        tmp_path / "image.tar",
        {"manifest.json": [{"Config": "c", "Layers": layers}], "c": WANTED, **LAYERS},
    )
    with tarfile.open(path, "a") as file:
        for name, kind in (("loop", tarfile.SYMTYPE), ("folder", tarfile.DIRTYPE)):
            entry = tarfile.TarInfo(name)
            entry.type, entry.linkname = kind, name
            file.addfile(entry)
    with pytest.raises(ImageNotFound):
        write_alone(path, DIGEST, name="ours:one", into=tmp_path / "alone.tar")


# A daemon that keeps what it is told to load, and says of every image what the test has written down.
CLIENT = """#!/bin/sh
cd "${0%/*}"
case "$1 $2" in
  "context inspect") echo '[{"Name": "default", "Endpoints": {"docker": {"Host": "unix:///x"}}}]';;
  "load --quiet") cp "$4" loaded.tar;;
  "image inspect") [ -f loaded.tar ] && cat "inspected.json" || { echo "[]"; exit 1; };;
  "tag "*) echo "$2 $3" >> tagged;;
  *) exit 1;;
esac
"""


@pytest.fixture
def daemon(tmp_path, monkeypatch):
    folder = tmp_path / "daemon"
    folder.mkdir()
    (folder / "docker").write_text(CLIENT)
    (folder / "docker").chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    current_endpoint.cache_clear()
    yield folder
    current_endpoint.cache_clear()


def says(daemon: Path, identifier: str, layers: list[str]) -> None:
    image = {
        "Id": identifier,
        "Architecture": "arm64",
        "Config": CONFIGURATION["config"],
        "RootFS": {"Layers": layers},
    }
    (daemon / "inspected.json").write_text(json.dumps([image]))


@pytest.mark.parametrize("identifier", [DIGEST, f"sha256:{'7' * 64}"], ids=["by config", "by manifest"])
def test_a_daemon_is_given_the_image_that_was_asked_for_and_none_of_the_archives_names(
    tmp_path, daemon, identifier
):
    offered = candidates(str(two_images(tmp_path / "both.tar")), ["arm64"])
    wanted = next(each for each in offered if each.facts.config_digest == DIGEST)
    says(daemon, identifier, HASHES)
    assert obtain(wanted).config_digest == identifier
    (entry,) = json.loads(content_of(daemon / "loaded.tar")["manifest.json"])
    assert entry["RepoTags"] == [f"forge-bench:verify-{DIGEST.partition(':')[2][:12]}"]
    # No name was taken, so none has to be given back.
    assert not (daemon / "tagged").exists()


def test_an_image_that_bears_the_same_labels_and_another_digest_did_not_arrive(tmp_path, daemon):
    wanted = candidates(str(two_images(tmp_path / "both.tar")), ["arm64"])[0]
    says(daemon, HOSTILE_DIGEST, ["sha256:" + "8" * 64])
    with pytest.raises(ImageNotFound, match="did not arrive"):
        obtain(wanted)


def test_an_image_that_arrives_from_a_registry_must_be_the_one_that_was_announced(daemon):
    (daemon / "docker").write_text(CLIENT.replace("*) exit 1", "pull*) touch loaded.tar;; *) exit 1"))
    announced = ImageFacts(
        target="core",
        architecture="arm64",
        identity="1" * 64,
        execution_hash="2" * 64,
        config_digest=DIGEST,
        manifest_digest="sha256:" + "5" * 64,
    )
    for identifier in (DIGEST, "sha256:" + "5" * 64, HOSTILE_DIGEST):
        (daemon / "loaded.tar").unlink(missing_ok=True)
        says(daemon, identifier, HASHES)
        candidate = Candidate(facts=announced, where="there", pull="registry.example/a:b")
        if identifier == HOSTILE_DIGEST:
            with pytest.raises(ImageNotFound, match="not the one that arrived"):
                obtain(candidate)
        else:
            assert obtain(candidate).config_digest == identifier
