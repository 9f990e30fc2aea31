"""Which images are pulled and not built; the registry is played by a function."""

from collections.abc import Iterable
from pathlib import Path

import pytest
from msgspec.structs import replace

from runner.images import released
from runner.images.identity import Identity
from runner.images.reference import Candidate
from runner.images.released import Released, pull_released, read_released, write_released
from runner.images.spec import ImageSpec
from runner.matrix.images import OURS
from runner.matrix.toolchain import Toolchain
from runner.records.image import ImageFacts
from runner.system.errors import DockerUnavailable, ImageNotFound

REGISTRY = "registry.example/forge-bench"
TOOLCHAIN = Toolchain(name="trixie", suite="trixie", rust="1.96.0", python="3.13.5", pytorch="2.6.0")
SPEC = ImageSpec(target=OURS["core"], architecture="amd64", toolchain=TOOLCHAIN)
IDENTITY = Identity(identity="1" * 64, execution_hash="2" * 64)
DIGEST = "sha256:" + "5" * 64
ENTRY = Released(target="core", architecture="amd64", identity=IDENTITY.identity, digest=DIGEST)
FACTS = ImageFacts(
    target="core",
    architecture="amd64",
    identity=IDENTITY.identity,
    execution_hash=IDENTITY.execution_hash,
    config_digest="sha256:" + "6" * 64,
    manifest_digest=DIGEST,
)


class Registry:
    """One image, and what was asked of it."""

    def __init__(self, announced: ImageFacts = FACTS, arrived: ImageFacts = FACTS) -> None:
        self.announced, self.arrived = announced, arrived
        self.asked: list[str] = []
        self.transfers = 0

    def candidates(self, reference: str, architectures: Iterable[str]) -> tuple[Candidate, ...]:
        assert list(architectures) == ["amd64"]
        self.asked.append(reference)
        return (Candidate(facts=self.announced, where=reference, pull=reference),)

    def obtain(self, _: Candidate) -> ImageFacts:
        self.transfers += 1
        return self.arrived


def play(monkeypatch: pytest.MonkeyPatch, registry: Registry) -> Registry:
    monkeypatch.setattr(released, "candidates", registry.candidates)
    monkeypatch.setattr(released, "obtain", registry.obtain)
    return registry


def pull(root: Path, said: list[str] | None = None) -> str | None:
    say = (said if said is not None else []).append
    return pull_released(SPEC, IDENTITY, root=root, registry=REGISTRY, say=say)


def test_an_image_of_exactly_this_identity_is_pulled_by_its_committed_digest(monkeypatch, tmp_path):
    write_released(tmp_path, [ENTRY])
    registry = play(monkeypatch, Registry())
    assert pull(tmp_path) == FACTS.config_digest
    assert registry.asked == [f"{REGISTRY}@{DIGEST}"]


def test_no_registry_is_asked_for_an_identity_that_no_release_committed(monkeypatch, tmp_path):
    registry = play(monkeypatch, Registry())
    said: list[str] = []
    assert pull(tmp_path, said) is None
    write_released(tmp_path, [replace(ENTRY, identity="9" * 64)])
    assert pull(tmp_path, said) is None
    assert registry.asked == []
    assert said == [f"{SPEC.tag} will be built: images.json names no image of exactly these files"] * 2


@pytest.mark.parametrize(
    "wrong",
    [
        {"identity": "9" * 64},
        {"identity": None},
        {"execution_hash": "9" * 64},
        {"architecture": "arm64"},
    ],
    ids=["another identity", "no label", "another execution hash", "another architecture"],
)
def test_a_digest_of_another_image_is_refused_before_anything_is_transferred(monkeypatch, tmp_path, wrong):
    write_released(tmp_path, [ENTRY])
    registry = play(monkeypatch, Registry(announced=replace(FACTS, **wrong)))
    said: list[str] = []
    assert pull(tmp_path, said) is None
    assert registry.transfers == 0
    assert "is refused" in said[-1]
    assert said[-1].startswith(f"{SPEC.tag} will be built: ")


def test_an_image_that_arrives_as_another_than_announced_is_refused(monkeypatch, tmp_path):
    write_released(tmp_path, [ENTRY])
    play(monkeypatch, Registry(arrived=replace(FACTS, identity="9" * 64)))
    said: list[str] = []
    assert pull(tmp_path, said) is None
    assert "is refused" in said[-1]


@pytest.mark.parametrize("error", [ImageNotFound, DockerUnavailable])
def test_a_registry_that_has_or_says_nothing_leads_to_a_build_with_its_reason(monkeypatch, tmp_path, error):
    write_released(tmp_path, [ENTRY])

    def fail(*_: object) -> tuple[Candidate, ...]:
        raise error(what="no image", why="connection refused", fix="")

    monkeypatch.setattr(released, "candidates", fail)
    said: list[str] = []
    assert pull(tmp_path, said) is None
    assert said[-1] == f"{SPEC.tag} will be built: no image: connection refused"


@pytest.mark.parametrize("text", ["", "{}", "[1]", '[{"target": "core"}]', '[{"target": 1}]'])
def test_a_damaged_file_of_digests_leads_to_a_build(tmp_path, text):
    (tmp_path / released.FILE).write_text(text)
    said: list[str] = []
    assert pull(tmp_path, said) is None
    assert "names no images" in said[-1]


def test_a_digest_of_another_form_is_not_read(tmp_path):
    write_released(tmp_path, [replace(ENTRY, digest="latest")])
    with pytest.raises(ImageNotFound):
        read_released(tmp_path)


def test_the_file_is_the_same_whatever_the_order_of_a_release(tmp_path):
    other = replace(ENTRY, architecture="arm64", identity="3" * 64)
    first = write_released(tmp_path, [ENTRY, other]).read_bytes()
    assert write_released(tmp_path, [other, ENTRY]).read_bytes() == first
    assert read_released(tmp_path) == {ENTRY.identity: ENTRY, other.identity: other}


def test_a_committed_file_of_digests_can_be_read():
    read_released(Path(__file__).parents[3])
