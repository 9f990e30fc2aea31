"""Anyone adds a competitor with a few lines of YAML, and nobody wins by saying so."""

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
import turns
from conftest import HOST, ROOT, docker, forge_bench
from test_matrix import record_of

from runner.system.errors import NothingDecided, OtherWork

OWN_PROGRAM = re.compile(r"<!-- own program -->\n```yaml\n(.*?)```", re.DOTALL)
README_COMPETITOR = re.compile(r"<!-- competitor -->\n```yaml\n(.*?)```", re.DOTALL)

LIAR = """
import argparse, json, pathlib, sys, numpy
parser = argparse.ArgumentParser()
parser.add_argument("--case", action="append")
parser.add_argument("--parameters", action="append", type=json.loads)
for name in ("--seed", "--input", "--output"):
    parser.add_argument(name)
parser.add_argument("--referee", action="store_true")
arguments = parser.parse_args()
cases = dict(zip(arguments.case, arguments.parameters))
say = lambda event: print(json.dumps(event), flush=True)
say({"event": "ready"})
for order in map(json.loads, sys.stdin):
    case, repetitions = order["case"], order["repetitions"]
    batch, length = cases[case]["batch"], cases[case]["length"]
    if order["event"] == "go":
        say({"event": "done", "case": case, "metrics": {"seconds": [1e-8] * repetitions}, "between_seconds": 0.0,
            "counts": {"elements": batch * length}, "digests": ["0" * 16] * repetitions})
        continue
    for repetition in repetitions:
        directory = pathlib.Path(arguments.output) / case / str(repetition)
        directory.mkdir(parents=True)
        covered = cases[case]["calls"] // cases[case].get("each", 1)
        zeros = numpy.zeros((covered, length) if batch == 1 else (covered, batch, length))
        numpy.save(directory / "advantages.npy", zeros)
        numpy.save(directory / "returns.npy", zeros)
    say({"event": "written", "case": case})
"""


def test_the_competitor_of_the_readme_is_five_lines_of_yaml_and_runs(images, tmp_path):
    readme = (ROOT / "docs" / "add-a-competitor.md").read_text(encoding="utf-8")
    lines = README_COMPETITOR.search(readme).group(1)
    assert len(lines.strip().splitlines()) <= 5
    matrix = (ROOT / "matrix.yaml").read_text(encoding="utf-8")
    anchor = "      rlox: {command: [python3, -m, baselines.peers.gae_rlox]"
    assert anchor in matrix
    path = tmp_path / "matrix.yaml"
    path.write_text(matrix.replace(anchor, lines.rstrip() + "\n" + anchor), encoding="utf-8")
    result = forge_bench(
        "--matrix", str(path), "--results", str(tmp_path / "r"), "--profile", "smoke",
        "--arch", HOST, "--only", "gae/numpy*",
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    name = lines.split(":")[0].strip()
    record = record_of(tmp_path / "r", implementation=name, case="T=2048")
    assert record["failure"] is None
    assert name in result.stdout


def test_a_wonderful_time_beside_wrong_outputs_is_a_failed_cell(images, tmp_path, shipped_matrix):
    def add_liar(data: dict) -> None:
        data["benchmarks"]["gae"]["implementations"]["liar"] = {"command": ["python3", "-c", LIAR]}

    result = forge_bench(
        "--matrix", str(shipped_matrix(add_liar)), "--results", str(tmp_path / "r"), "--profile", "smoke",
        "--arch", HOST, "--only", "gae/liar",
    )  # fmt: skip
    assert result.returncode == 3
    assert "wrong-output" in result.stdout
    assert (
        record_of(tmp_path / "r", implementation="liar", case="T=2048")["failure"]["kind"] == "wrong-output"
    )
    assert record_of(tmp_path / "r", implementation="numpy", case="T=2048")["failure"] is None


@pytest.fixture
def with_own_program(images: None, tmp_path: Path) -> Iterator[Path]:
    """The shipped matrix with the lines of the README, beside the example; its image is gone afterwards."""
    del images
    lines = OWN_PROGRAM.search((ROOT / "docs" / "add-a-competitor.md").read_text(encoding="utf-8")).group(1)
    image, _, implementation = lines.partition("# under benchmarks.gae.implementations:\n")
    matrix = (ROOT / "matrix.yaml").read_text(encoding="utf-8")
    anchor = "      rlox: {command: [python3, -m, baselines.peers.gae_rlox]"
    matrix = matrix.replace(anchor, implementation.replace("[amd64]", f"[{HOST}]") + anchor)
    matrix = matrix.replace("\nbenchmarks:\n", f"\n{image}\nbenchmarks:\n")
    path = tmp_path / "matrix.yaml"
    path.write_text(matrix, encoding="utf-8")
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    # Each test builds another program under the same tag, and removes it.
    with turns.one_at_a_time("own-program"):
        yield path
        docker("rmi", f"forge-bench:own-program-trixie-{HOST}")


def test_a_competitor_brings_its_own_program_with_a_dockerfile_and_three_lines_of_yaml(
    with_own_program, tmp_path
):
    where = ("--matrix", str(with_own_program), "--results", str(tmp_path / "r"))
    cells = (*where, "--profile", "smoke", "--arch", HOST, "--only", "gae/c")
    result = forge_bench(*cells)
    assert result.returncode == 0, result.stderr[-4000:]

    record = record_of(tmp_path / "r", implementation="c", case="256x2048")
    assert record["failure"] is None
    assert all(check["passed"] for check in record["gate"])
    assert (record["image"]["target"], record["work"]["core"]["target"]) == ("own-program", "core")
    assert record["image"]["config_digest"] != record["work"]["core"]["config_digest"]
    assert record["software"].keys() == {"gae", "gcc"}
    assert record["work"]["versions"] == ("/gae", "--versions")
    files = docker("create", record["image"]["config_digest"], "/gae").stdout.strip()
    try:
        assert docker("cp", f"{files}:/bin/sh", str(tmp_path)).returncode != 0, (
            "there is nothing but the program"
        )
        assert docker("cp", f"{files}:/gae", str(tmp_path / "gae")).returncode == 0
    finally:
        docker("rm", "--force", files)
    assert (tmp_path / "gae").read_bytes().startswith(b"\x7fELF")

    again = forge_bench(*cells)
    assert again.returncode == 0, again.stderr[-4000:]
    assert "0 cells run, 14 reused" in again.stderr
    assert "building" not in again.stderr

    record_file = next((tmp_path / "r" / "records" / "gae").glob(f"{record['id']}.json"))
    # One process gives bytes, and no time that could be judged.
    verified = forge_bench("verify", str(record_file), "--matrix", str(with_own_program))
    assert verified.returncode == NothingDecided.exit_code, verified.stdout + verified.stderr[-4000:]
    elsewhere = forge_bench("verify", str(record_file))
    assert elsewhere.returncode == OtherWork.exit_code, "the shipped matrix has no such competitor"

    program = tmp_path / "examples" / "own-program" / "gae.c"
    program.write_text(program.read_text(encoding="utf-8").replace('"1.0', '"1.1'), encoding="utf-8")
    plan = forge_bench(*where, "plan", "--profile", "smoke", "--arch", HOST, "--only", "gae/c")
    assert plan.returncode == 0, plan.stderr
    assert "inputs of the image changed" in plan.stdout


def test_a_program_of_theirs_that_computes_something_else_is_a_failed_cell(with_own_program, tmp_path):
    program = tmp_path / "examples" / "own-program" / "gae.c"
    text = program.read_text(encoding="utf-8")
    assert "LAMBDA = 0.95" in text
    program.write_text(text.replace("LAMBDA = 0.95", "LAMBDA = 0.9"), encoding="utf-8")
    result = forge_bench(
        "--matrix", str(with_own_program), "--results", str(tmp_path / "r"), "--profile", "smoke",
        "--arch", HOST, "--only", "gae/c/T=128",
    )  # fmt: skip
    assert result.returncode == 3, result.stderr[-4000:]
    failure = record_of(tmp_path / "r", implementation="c", case="T=128")["failure"]
    assert failure["kind"] == "wrong-output"


def test_a_build_of_theirs_that_fails_shows_its_last_lines_and_starts_nothing(with_own_program, tmp_path):
    (tmp_path / "examples" / "own-program" / "gae.c").write_text("this is no C\n", encoding="utf-8")
    result = forge_bench(
        "--matrix", str(with_own_program), "--results", str(tmp_path / "r"), "--profile", "smoke",
        "--arch", HOST, "--only", "gae/c",
    )  # fmt: skip
    assert result.returncode == 6, result.stderr[-4000:]
    assert "this is no C" in result.stderr
    assert "not of forge-bench" in result.stderr
    assert not list((tmp_path / "r" / "records").rglob("*.json"))
