"""The edge image: one static program, alone, on both architectures; and cells that run on it."""

import json
import os
import tarfile
import time
from pathlib import Path

import pytest
from conftest import FOREIGN, HOST, docker, forge_bench
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

MOST_BYTES = 8_000_000


@pytest.fixture(scope="module")
def edge(images: None) -> None:
    """The edge images of both architectures, by the command that a user has."""
    del images
    # From nothing both compilations took more than 30 minutes of two slow cores, beside other tests.
    result = forge_bench("build", "--only", "edge", timeout=3600)
    assert result.returncode == 0, result.stderr[-4000:]


def tag(architecture: str) -> str:
    return f"forge-bench:edge-trixie-{architecture}"


def files_of(image: str, directory: Path) -> dict[str, bytes]:
    """Every file of an image by its path."""
    container = docker("create", image).stdout.strip()
    try:
        archive = directory / "image.tar"
        assert docker("export", "--output", str(archive), container).returncode == 0
    finally:
        docker("rm", "--force", container)
    with tarfile.open(archive) as opened:
        return {each.name: opened.extractfile(each).read() for each in opened if each.isfile()}  # type: ignore[union-attr]


@pytest.mark.parametrize("architecture", [HOST, FOREIGN])
def test_it_holds_one_program_and_what_says_what_it_is(edge, architecture, tmp_path):
    size = int(docker("image", "inspect", tag(architecture), "--format", "{{.Size}}").stdout)
    assert size <= MOST_BYTES
    # What the daemon itself puts into every container is empty.
    files = {name: content for name, content in files_of(tag(architecture), tmp_path).items() if content}
    notices = {name for name in files if name.startswith("opt/forge-bench/licenses/")}
    assert {*files} - notices == {
        "usr/bin/torchforge",
        *(f"opt/forge-bench/{name}" for name in ("LICENSE", "image.json", "sbom.json")),
    }
    # The C library is in it, and goes nowhere without its licence.
    for library in ("libstd-rust-web", "libc6", "gcc"):
        assert any(name.startswith(f"opt/forge-bench/licenses/{library}") for name in notices), library
    program = files["usr/bin/torchforge"]
    assert program.startswith(b"\x7fELF")
    assert b"/lib/ld-linux" not in program
    assert b"/lib64/ld-linux" not in program
    described = json.loads(files["opt/forge-bench/image.json"])
    labels = json.loads(
        docker("image", "inspect", tag(architecture), "--format", "{{json .Config.Labels}}").stdout
    )
    assert (described["target"], described["architecture"]) == ("edge", architecture)
    assert described["identity"] == labels["forge-bench.identity"]
    bill = files["opt/forge-bench/sbom.json"].decode()
    assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(bill) is None
    names = {each["name"].partition("-")[0] for each in json.loads(bill)["components"]}
    assert {"torchforge", "libc6", "libgcc", "libstd", "safetensors"} <= names
    assert not {"pyo3", "python3"} & names


def test_a_plain_run_prints_the_same_result_on_both_architectures_in_64_mib(edge):
    def told(architecture: str) -> dict[str, str]:
        options = ("--rm", "--network", "none", "--read-only", "--memory", "64m", "--memory-swap", "64m")
        result = docker("run", *options, tag(architecture), "dqn", "--steps", "11000")
        assert result.returncode == 0, result.stderr
        rows = [line.strip("| ").split("|") for line in result.stdout.splitlines()[2:]]
        return {name.strip(): value.strip() for name, value in rows}

    here, there = told(HOST), told(FOREIGN)
    assert here["gradient steps"] == "99"
    # Not how long, how much memory, through which instructions.
    learnt = ("environment steps", "gradient steps", "episodes", "mean return of the last 100 episodes")
    assert {name: here[name] for name in learnt} == {name: there[name] for name in learnt}


def test_a_container_that_is_stopped_ends_at_once(edge):
    """Its program is process 1, for which the kernel knows no default action."""
    container = docker("run", "--detach", "--rm", tag(HOST), "dqn", "--steps", "100000000").stdout.strip()
    try:
        begun = time.monotonic()
        assert docker("stop", "--time", "60", container).returncode == 0
        assert time.monotonic() - begun < 30
    finally:
        docker("rm", "--force", container)


# PPO's checkpoint is after its first iteration of 512 steps.
@pytest.mark.parametrize(
    ("algorithm", "steps", "stop"), [("dqn", 11_000, 10_500), ("ppo", 1_536, 512), ("sac", 1_021, 1_010)]
)
def test_a_training_in_64_mib_that_stops_here_goes_on_there_to_the_same_bytes(
    edge, tmp_path, algorithm, steps, stop
):
    stops = ("--checkpoint", "/work/stopped", "--checkpoint-every", f"{stop}")
    trained(HOST, tmp_path, algorithm, steps, "straight", *stops)
    trained(FOREIGN, tmp_path, algorithm, steps, "resumed", "--resume", "/work/stopped")
    assert_the_same_files(tmp_path, "straight", "resumed")


@pytest.mark.parametrize(("algorithm", "steps"), [("dqn", 10_300), ("ppo", 512), ("sac", 1_003)])
def test_whatever_instructions_a_training_is_held_to_it_ends_with_the_same_bytes(
    edge, tmp_path, algorithm, steps
):
    trained(HOST, tmp_path, algorithm, steps, "best")
    # Whether an emulated amd64 has AVX2 is the emulator's affair.
    vectors = {"amd64": [("amd64", "avx2"), ("arm64", "neon")], "arm64": [("arm64", "neon")]}[HOST]
    for architecture, path in [*vectors, (HOST, "portable"), (FOREIGN, "portable")]:
        trained(architecture, tmp_path, algorithm, steps, f"{architecture}-{path}", "--simd", path)
        assert_the_same_files(tmp_path, "best", f"{architecture}-{path}")


# The bytes of a seed are the same everywhere, and so is what it learns: no run is luckier than another. An agent that
# acts at random gets 22 on CartPole and -1,212 on Pendulum.
@pytest.mark.parametrize(
    ("algorithm", "steps", "count", "least"), [("dqn", 500_000, 100, 475.0), ("sac", 6_000, 10, -250.0)]
)
def test_a_training_in_64_mib_learns(edge, tmp_path, algorithm, steps, count, least):
    trained(HOST, tmp_path, algorithm, steps, "whole")
    episodes = json.loads((tmp_path / "whole" / "episodes.json").read_text())
    returns = [each["return"] for each in episodes[-count:]]
    assert len(returns) == count
    assert sum(returns) / count >= least


def trained(architecture: str, directory: Path, algorithm: str, steps: int, output: str, *words: str) -> None:
    """Train in 64 MiB; what comes of it lies in the folder ``output`` of the directory."""
    limits = ("--rm", "--network", "none", "--read-only", "--memory", "64m", "--memory-swap", "64m")
    user = ("--user", f"{os.getuid()}:{os.getgid()}", "--volume", f"{directory}:/work")
    what = (algorithm, "--steps", f"{steps}", "--output", f"/work/{output}", *words)
    result = docker("run", *limits, *user, tag(architecture), *what)
    assert result.returncode == 0, result.stderr


def assert_the_same_files(directory: Path, one: str, other: str) -> None:
    """Episodes, weights and trace of two trainings are the same bytes."""
    for name in ("episodes.json", "weights.safetensors", "trace.safetensors"):
        assert (directory / one / name).read_bytes() == (directory / other / name).read_bytes(), (
            f"{other}: {name}"
        )


def test_cells_run_on_it_and_pass_their_gates(edge, tmp_path):
    result = forge_bench(
        "--profile", "smoke", "--only", "edge", "--arch", HOST, "--results", str(tmp_path / "r")
    )
    assert result.returncode == 0, result.stderr[-4000:]
    records = [json.loads(path.read_text()) for path in (tmp_path / "r" / "records" / "edge").glob("*.json")]
    targets = {each["cell"]["implementation"]: each["image"]["target"] for each in records}
    assert targets == {"pytorch": "core", "rust": "edge", "rust-core": "core"}
    assert not any(each["failure"] for each in records)
    assert {each["launch"]["limits"]["memory_bytes"] for each in records} == {512 * 2**20}
    by_name = {each["cell"]["implementation"]: each for each in records}
    # One program, statically linked or not: the same bytes.
    assert by_name["rust"]["outputs"] == by_name["rust-core"]["outputs"]
    assert by_name["rust"]["software"]["rustc"] == by_name["rust-core"]["software"]["rust"]
