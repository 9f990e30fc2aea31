"""Records of the pinned image run again: on the image itself, on an archive of it, and out of a real registry."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import FOREIGN, HOST, PEERS, docker, forge_bench, left_behind
from small_images import build, forget

from runner.images.reference import candidates, inspect, obtain
from runner.records.key import key_of
from runner.records.record import record_of, seal
from runner.records.store import Store
from runner.system.errors import NothingDecided

# Names that only these tests give, and take away again.
NAME = "forge-bench-verify-test"


@pytest.fixture(scope="module")
def records(images, tmp_path_factory) -> Path:
    """Two implementations of one operation, run natively in the core image."""
    results = tmp_path_factory.mktemp("records")
    result = forge_bench(
        "--profile", "smoke", "--arch", HOST, "--only", "gae/rust", "--only", "gae/numpy", "--results", str(results),
    )  # fmt: skip
    assert result.returncode == 0, result.stderr[-4000:]
    return results


@pytest.fixture(scope="module")
def one(records) -> Path:
    """One record: a case of Rust's."""
    return next(
        path
        for path in records.glob("records/gae/*.json")
        if (cell := json.loads(path.read_text())["cell"])["implementation"] == "rust"
        and cell["case"] == "T=512"
    )


@pytest.fixture(scope="module")
def core(records) -> str:
    """The config digest of the image of the records."""
    (digest,) = {record.image.config_digest for record in Store(records).records()}
    return digest


@pytest.fixture(scope="module")
def twin(core) -> Iterator[str]:
    """The tag of another build of the same files: the labels of the core image, and another config digest."""
    docker("tag", core, f"{NAME}:core")
    build(f"{NAME}:twin", HOST, f"FROM {NAME}:core\nLABEL a.test=twin\n")
    yield f"{NAME}:twin"
    forget(f"{NAME}:core", f"{NAME}:twin")


@pytest.fixture(scope="module")
def archive(twin, tmp_path_factory) -> Path:
    """The twin in a file of docker save, and no more in the daemon; its name there is given to another image."""
    path = tmp_path_factory.mktemp("archive") / "image.tar"
    assert docker("save", "--output", str(path), twin).returncode == 0
    return path


def verify(*arguments: str) -> dict:
    result = forge_bench("verify", "--json", *arguments)
    # One process of a cell gives bytes that are the same, and no time that could be judged.
    assert result.returncode == NothingDecided.exit_code, result.stderr[-4000:]
    return json.loads(result.stdout)


def verdicts(found: dict, figure: str) -> set[str]:
    return {
        each["verdict"] for cell in found["cells"] for each in cell["figures"] if each["figure"] == figure
    }


def likenesses(found: dict) -> set[str]:
    return {image["likeness"] for image in found["images"]}


def assert_reproduced(found: dict, likeness: str) -> None:
    assert likenesses(found) == {likeness}
    for figure in ("gate", "inputs", "outputs", "counts", "software"):
        assert verdicts(found, figure) == {"reproduced"}, figure
    assert found["summary"]["differs"] == 0


def test_a_directory_is_reproduced_on_the_image_of_its_records_in_as_many_launches(records):
    found = verify(str(records))
    assert_reproduced(found, "same")
    assert (len(found["cells"]), found["launches"]) == (14, 2)
    assert verdicts(found, "seconds") == {"inconclusive"}, "one process decides nothing"


def test_a_digit_that_was_altered_is_found_before_anything_is_started(one, tmp_path):
    text = one.read_text()
    data = json.loads(text)
    figure = repr(data["measurement"]["metrics"]["seconds"][0])
    digit = next(index for index, character in enumerate(figure) if character in "123456789")
    altered = tmp_path / one.name
    altered.write_text(
        text.replace(figure, f"{figure[:digit]}{(int(figure[digit]) + 1) % 10}{figure[digit + 1 :]}", 1)
    )
    result = forge_bench("verify", str(altered))
    assert result.returncode == 18
    assert str(altered) in result.stderr
    assert "altered" in result.stderr


def test_an_archive_of_docker_save_is_loaded_and_takes_no_name_from_another_image(one, archive, twin, core):
    digest = inspect(twin)["Id"]
    forget(twin)
    docker("tag", core, twin)
    assert inspect(digest) is None
    try:
        found = verify(str(one), "--image", str(archive))
        assert_reproduced(found, "rebuilt")
        assert found["images"][0]["run"]["config_digest"] == digest
        assert inspect(twin)["Id"] == core
    finally:
        docker("tag", digest, twin)
        forget(f"forge-bench:verify-{digest.removeprefix('sha256:')[:12]}")


def test_an_image_of_other_files_verifies_nothing(one):
    result = forge_bench("verify", str(one), "--image", PEERS)
    assert result.returncode == 20
    assert "is not the image of these records" in result.stderr


@pytest.mark.parametrize(
    "nowhere",
    [
        f"sha256:{'0' * 64}",
        "127.0.0.1:9/forge-bench:latest",
        "forge-bench:no-such-tag",
        "--",
        "no/such/file.tar",
    ],
)
def test_an_image_that_is_nowhere_is_three_lines(one, nowhere):
    result = forge_bench("verify", str(one), f"--image={nowhere}")
    assert result.returncode == 19, result.stderr
    assert "to do:" in result.stderr
    assert "Traceback" not in result.stderr


def test_a_record_whose_image_is_gone_says_which_one_and_what_to_do(one, tmp_path):
    data = json.loads(one.read_text())
    del data["content_sha256"]
    for image in (data["image"], data["work"]["core"]):
        image.update(config_digest=f"sha256:{'0' * 64}", identity="0" * 64, execution_hash="0" * 64)
    # As if it had been made there: the key of a cell follows from its image.
    made = record_of(seal(data))
    assert made.work
    data["key"] = key_of(made, made.work)
    data["id"] = f"{made.identifier.partition('-')[0]}-{data['key'][:16]}"
    (tmp_path / one.name).write_text(json.dumps(seal(data)))
    result = forge_bench("verify", str(tmp_path / one.name))
    assert result.returncode == 19, result.stderr
    assert "--image" in result.stderr


# --- a registry -----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def pushed(registry, twin, core) -> Iterator[dict[str, str]]:
    """References to the core image, to its twin, and to an index of the twin and a foreign image that is no more."""
    build(
        f"{registry}:foreign", FOREIGN,
        "FROM scratch\nWORKDIR /mark\nLABEL forge-bench.target=core forge-bench.identity=foreign\n",
    )  # fmt: skip
    docker("tag", core, f"{registry}:core")
    docker("tag", twin, f"{registry}:twin")
    for tag in ("core", "twin", "foreign"):
        result = docker("push", "--quiet", f"{registry}:{tag}")
        assert result.returncode == 0, result.stderr
    result = docker(
        "buildx",
        "imagetools",
        "create",
        "--tag",
        f"{registry}:index",
        f"{registry}:twin",
        f"{registry}:foreign",
    )
    assert result.returncode == 0, result.stderr
    yield {name: f"{registry}:{name}" for name in ("core", "twin", "foreign", "index")}
    left = docker("image", "ls", "--quiet", "--no-trunc", registry).stdout.split()
    references = {
        name
        for digest in left
        for name in [*inspect(digest)["RepoTags"], *inspect(digest)["RepoDigests"]]
        if name.startswith(registry)
    }
    forget(*references)


def digest_of(reference: str) -> str:
    result = docker("buildx", "imagetools", "inspect", "--format", "{{json .Manifest}}", reference)
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)["digest"]


def test_the_image_of_a_record_is_known_in_a_registry_and_not_fetched_again(pushed, core):
    (found,) = candidates(pushed["core"], [HOST])
    assert found.facts.config_digest == core
    before = inspect(core)["RepoDigests"]
    assert obtain(found).config_digest == core
    assert inspect(core)["RepoDigests"] == before


def test_an_index_and_each_digest_below_it_lead_to_the_image_of_the_records_architecture(
    one, pushed, twin, registry
):
    digest = inspect(twin)["Id"]
    forget(twin, f"{registry}:twin", pushed["foreign"])
    assert inspect(digest) is None
    try:
        # The foreign one first: a daemon that had pulled the index by its own digest would refuse the other.
        index = f"{registry}@{digest_of(pushed['index'])}"
        (foreign,) = candidates(index, [FOREIGN])
        assert obtain(foreign).identity == "foreign"
        found = verify(str(one), "--image", index)
        assert_reproduced(found, "rebuilt")
        assert found["images"][0]["run"]["config_digest"] == digest
        (own,) = candidates(pushed["index"], [HOST])
        assert own.pull.startswith(f"{registry}@sha256:")
        assert own.facts.config_digest == digest
        assert candidates(own.pull, [HOST])[0].facts.config_digest == digest
    finally:
        docker("tag", digest, twin)


def test_an_index_without_the_records_architecture_says_what_it_offers(one, pushed):
    result = forge_bench("verify", str(one), "--image", pushed["foreign"])
    assert result.returncode == 20
    alone = f"{pushed['foreign']}-index"
    assert docker("buildx", "imagetools", "create", "--tag", alone, pushed["foreign"]).returncode == 0
    result = forge_bench("verify", str(one), "--image", alone)
    assert result.returncode == 19, result.stderr
    assert FOREIGN in result.stderr


def test_nothing_is_left_behind(records):
    del records
    assert left_behind() == []
