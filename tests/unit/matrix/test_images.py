"""Images of a matrix: ours are a table, somebody else's are YAML, and every fault of theirs is said with its line."""

from pathlib import Path

import pytest

from runner.matrix import Matrix, load_matrix
from runner.matrix.images import CORE, OURS, TheirDockerfile, TheirImage
from runner.system.errors import MatrixError

SHIPPED = (Path(__file__).parents[3] / "matrix.yaml").read_text(encoding="utf-8")
DIGEST = "sha256:" + "0" * 64
RLOX = "      rlox: {command: [python3, -m, baselines.peers.gae_rlox], image: peers"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "theirs" / "src").mkdir(parents=True)
    (tmp_path / "theirs" / "Dockerfile").write_text("FROM scratch\n")
    (tmp_path / "Dockerfile").write_text("FROM scratch\n")
    (tmp_path / "out").symlink_to(tmp_path.parent, target_is_directory=True)
    return tmp_path


def load(folder: Path, images: str, image: str = "theirs", **more: bool) -> Matrix:
    assert RLOX in SHIPPED
    text = SHIPPED.replace(RLOX, RLOX.replace("peers", image), 1).replace(
        "\nlimits:", f"\nimages:\n{images}\nlimits:", 1
    )
    (folder / "matrix.yaml").write_text(text, encoding="utf-8")
    return load_matrix(folder / "matrix.yaml", **more)


def faults_of(folder: Path, images: str, image: str = "theirs") -> str:
    with pytest.raises(MatrixError) as caught:
        load(folder, images, image)
    return caught.value.what


def test_a_dockerfile_of_theirs_takes_its_own_folder_along(folder):
    matrix = load(folder, "  theirs: {dockerfile: theirs/Dockerfile, versions: [/theirs, --versions]}")
    target = matrix.benchmarks["gae"].implementations["rlox"].image
    place = folder / "theirs"
    assert target.source == TheirDockerfile(dockerfile=place / "Dockerfile", context=place)
    assert (target.name, target.versions) == ("theirs", ("/theirs", "--versions"))
    assert (target.pins, target.packages, target.executable_tmp) == ((), (), False)


def test_a_dockerfile_and_its_context_may_lie_apart(folder):
    matrix = load(folder, "  theirs: {dockerfile: Dockerfile, context: theirs/src}")
    source = matrix.benchmarks["gae"].implementations["rlox"].image.source
    assert source == TheirDockerfile(dockerfile=folder / "Dockerfile", context=folder / "theirs" / "src")


def test_an_image_of_a_registry_is_named_by_its_digest(folder):
    matrix = load(folder, f"  theirs: {{reference: 'registry.example:5000/x@{DIGEST}'}}")
    source = matrix.benchmarks["gae"].implementations["rlox"].image.source
    assert source == TheirImage(reference=f"registry.example:5000/x@{DIGEST}")


def test_ours_need_no_word_in_the_matrix(folder):
    implementations = (
        load(folder, "  theirs: {dockerfile: theirs/Dockerfile}").benchmarks["gae"].implementations
    )
    assert implementations["torchrl"].image is OURS["peers"]
    assert implementations["numpy"].image is CORE


OWN = "dockerfile: theirs/Dockerfile"
BY_DIGEST = f"reference: x/y@{DIGEST}"
NEEDS = "an image needs either a dockerfile or a reference; "
FAULTS = [
    ("", "theirs", NEEDS + "neither stands here"),
    ("versions: [x]", "theirs", NEEDS + "neither stands here"),
    (f"{OWN}, {BY_DIGEST}", "theirs", NEEDS + "both stand here"),
    (f"{BY_DIGEST}, context: theirs", "theirs.context", "only a dockerfile has a context"),
    ("reference: x/y:latest", "theirs.reference", '"x/y:latest" does not have the right form'),
    ("dockerfile: theirs/Dockerfille", "theirs.dockerfile", "there is no file"),
    ("dockerfile: theirs", "theirs.dockerfile", "there is no file"),
    (f"dockerfile: {'ü' * 200}", "theirs.dockerfile", "there is no file"),
    ("dockerfile: ../theirs/Dockerfile", "theirs.dockerfile", "this leads out of the folder of the matrix"),
    ("dockerfile: /etc/passwd", "theirs.dockerfile", "this leads out of the folder of the matrix"),
    ("dockerfile: out/Dockerfile", "theirs.dockerfile", "this leads out of the folder of the matrix"),
    ("dockerfile: Dockerfile", "theirs.dockerfile", "a build needs a folder of its own"),
    (f"{OWN}, context: .", "theirs.context", "a build needs a folder of its own"),
    (f"{OWN}, context: theirs/none", "theirs.context", "there is no folder"),
    (f"{OWN}, contex: theirs", "theirs.contex", 'unknown key "contex"; did you mean "context"?'),
]


@pytest.mark.parametrize(("image", "place", "said"), FAULTS)
def test_every_fault_is_said_with_its_line(folder, image, place, said):
    what = faults_of(folder, f"  theirs: {{{image}}}")
    assert "1 fault;" in what
    line = 1 + (folder / "matrix.yaml").read_text().splitlines().index(f"  theirs: {{{image}}}")
    assert f"line {line}, images.{place}: {said}" in what


def test_a_name_of_ours_is_taken(folder):
    what = faults_of(folder, f"  core: {{{OWN}}}", image="core")
    assert "images.core: forge-bench has an image of this name already" in what


def test_an_image_that_nothing_describes_is_named_with_the_nearest(folder):
    what = faults_of(folder, f"  thiers: {{{OWN}}}")
    assert 'benchmarks.gae.implementations.rlox.image: no image "theirs"; did you mean "thiers"?' in what


def test_inside_an_image_their_files_are_not_looked_for(folder):
    images = "  theirs: {dockerfile: gone/Dockerfile}"
    assert "there is no file" in faults_of(folder, images)
    assert load(folder, images, builds=False).benchmarks["gae"].implementations["rlox"].image.name == "theirs"


@pytest.mark.parametrize(
    "images", ["  []", "  x", "  theirs: []", "  theirs: {versions: []}", "  3: {}", "  {}"]
)
def test_what_is_no_image_is_refused_without_a_traceback(folder, images):
    assert "fault" in faults_of(folder, images)
