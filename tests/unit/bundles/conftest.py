"""A publication-like folder, an archive as a daemon saves it, and the bundle of both."""

import io
import json
import tarfile
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from runner.bundles.contents import BundledImage
from runner.bundles.write import SavedImages, write_bundle
from runner.records.image import ImageFacts

RESULTS = {
    "results/README.md": b"# a page\n",
    "results/records/gae/a.json": b"{}\n",
    "matrix.yaml": b"version: 1\n",
}
INSIDE = {
    "opt/forge-bench/sbom.json": b'{"bomFormat": "CycloneDX"}',
    "opt/forge-bench/licenses/a-1.0/LICENSE": b"MIT",
    "usr/share/doc/libc6/copyright": b"LGPL",
    "usr/bin/python3": b"no licence",
}


@dataclass(frozen=True)
class Saved:
    """An archive of one image in two layers, and the digest of its configuration."""

    archive: Path
    digest: str
    layers: tuple[bytes, ...]

    @property
    def images(self) -> SavedImages:
        facts = ImageFacts(
            target="core",
            architecture="amd64",
            identity="1" * 64,
            execution_hash="2" * 64,
            config_digest=self.digest,
            manifest_digest=None,
        )
        known = BundledImage(config_digest=self.digest, stands_for=(facts,), likeness=("the record's own",))
        return SavedImages(archive=self.archive, known={self.digest: known})


def tar_of(files: dict[str, bytes]) -> bytes:
    target = io.BytesIO()
    with tarfile.open(fileobj=target, mode="w") as archive:
        for name, content in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    return target.getvalue()


@pytest.fixture
def saved(tmp_path: Path) -> Saved:
    layers = (tar_of({"usr/share/doc/libc6/copyright": b"an older one"}), tar_of(INSIDE))
    configuration: dict[str, Any] = {
        "architecture": "amd64",
        "config": {"Labels": {"forge-bench.target": "core"}},
        "rootfs": {"type": "layers", "diff_ids": [f"sha256:{sha256(each).hexdigest()}" for each in layers]},
    }
    text = json.dumps(configuration).encode()
    names = ["0/layer.tar", "1/layer.tar"]
    manifest = [{"Config": "c.json", "RepoTags": ["forge-bench:latest"], "Layers": names}]
    path = tmp_path / "saved.tar"
    path.write_bytes(
        tar_of(
            {
                "c.json": text,
                **dict(zip(names, layers, strict=True)),
                "manifest.json": json.dumps(manifest).encode(),
            }
        )
    )
    return Saved(archive=path, digest=f"sha256:{sha256(text).hexdigest()}", layers=layers)


@pytest.fixture
def bundle(tmp_path: Path, saved: Saved) -> Path:
    path = tmp_path / "bundle.tar"
    write_bundle(path, name="a", records=1, files=RESULTS, images=saved.images)
    return path
