"""What a file that is said to be an image archive is taken for, before any daemon sees it."""

import gzip
import hashlib
import io
import json
import tarfile
from pathlib import Path
from typing import Any

import pytest

from runner.images.reference import candidates
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
