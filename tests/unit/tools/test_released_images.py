"""What a release writes about its images."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from runner.images.identity import identify
from runner.images.spec import ImageSpec
from runner.matrix import load_matrix
from runner.matrix.images import OURS
from tools import released_images

ROOT = Path(__file__).parents[3]
TOOLCHAINS = tuple(load_matrix(ROOT / "matrix.yaml").toolchains.values())
DIGEST = "sha256:" + "5" * 64
LINES = [f"core\tindex\tsha256:{'1' * 64}", f"core\tlinux/amd64\t{DIGEST}"]


def says(monkeypatch: pytest.MonkeyPatch, identity: str | None) -> None:
    found = SimpleNamespace(facts=SimpleNamespace(identity=identity))
    monkeypatch.setattr(released_images, "candidates", lambda *_: (found,))


def test_each_platforms_image_is_named_by_the_identity_that_this_checkout_gives_it(monkeypatch):
    toolchain, *_ = TOOLCHAINS
    spec = ImageSpec(target=OURS["core"], architecture="amd64", toolchain=toolchain)
    identity = identify(spec, ROOT).identity
    says(monkeypatch, identity)
    (image,) = released_images.released("r.example/x", released_images.pushed(LINES), TOOLCHAINS, ROOT)
    assert (image.target, image.architecture, image.digest) == ("core", "amd64", DIGEST)
    assert image.identity == identity


@pytest.mark.parametrize("identity", [None, "9" * 64])
def test_an_image_of_other_files_ends_the_release(monkeypatch, identity):
    says(monkeypatch, identity)
    with pytest.raises(SystemExit, match="not built from the files of this checkout"):
        released_images.released("r.example/x", released_images.pushed(LINES), TOOLCHAINS, ROOT)
