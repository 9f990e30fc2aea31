"""Anyone adds a competitor with a few lines of YAML, and nobody wins by saying so."""

import re

from conftest import HOST, ROOT, forge_bench
from test_matrix import record_of

README_COMPETITOR = re.compile(r"<!-- competitor -->\n```yaml\n(.*?)```", re.DOTALL)

LIAR = """
import argparse, json, pathlib, numpy
parser = argparse.ArgumentParser()
parser.add_argument("--case", action="append")
parser.add_argument("--parameters", action="append", type=json.loads)
for name in ("--seed", "--input", "--output"):
    parser.add_argument(name)
arguments = parser.parse_args()
for case, parameters in zip(arguments.case, arguments.parameters):
    directory = pathlib.Path(arguments.output) / case
    directory.mkdir()
    zeros = numpy.zeros(parameters["length"] if parameters["batch"] == 1 else (parameters["batch"], parameters["length"]))
    numpy.save(directory / "advantages.npy", zeros)
    numpy.save(directory / "returns.npy", zeros)
    print(json.dumps({"event": "measurement", "case": case, "metrics": {"seconds": [1e-12]},
        "counts": {"elements": parameters["batch"] * parameters["length"]},
        "memory": {"vmhwm_bytes": None, "cgroup_peak_bytes": None}}))
"""


def test_the_competitor_of_the_readme_is_five_lines_of_yaml_and_runs(images, tmp_path):
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
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
