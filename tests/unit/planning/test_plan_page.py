"""The plan as text: a page for any number of cells, and nothing lost on the way to it."""

import json
import re

import pytest
from conftest import DOUBLER, program, small_matrix
from pseudo_terminal import ROOT

from runner.cli.main import main


@pytest.fixture
def plan(write_matrix, tmp_path, capsys):
    def call(data: dict | None, *arguments: str) -> str:
        path = ROOT / "matrix.yaml" if data is None else write_matrix(data)
        where = ["--matrix", str(path), "--results", str(tmp_path / "results"), "--executor", "local"]
        assert main(["plan", *arguments, *where]) == 0
        return capsys.readouterr().out

    return call


def counted(text: str, word: str) -> int:
    """The sum of ``N run``, ``N reuse`` or ``N leave out`` over the groups."""
    body = text.rpartition("\n\n")[0]
    return sum(int(count) for count in re.findall(rf"\b(\d+) {word}\b", body))


def test_the_shipped_matrix_is_a_page_and_its_groups_hold_every_cell(plan):
    text, cells = plan(None), json.loads(plan(None, "--json"))["cells"]
    assert len(cells) > 140
    assert len(text.splitlines()) < 50
    for word in ("run", "reuse", "leave out"):
        assert counted(text, word) == sum(each["decision"] == word for each in cells)


def test_all_is_a_line_a_cell_with_its_reason(plan):
    data = small_matrix(absent=["no-such-program-anywhere"])
    lines = plan(data, "--all").splitlines()
    [platform] = data["platforms"]
    assert f"run       double n=4 plain {platform} seed 1: no record of this cell" in lines
    assert sum(line.startswith(("run ", "leave out ")) for line in lines) == 8
    assert lines[-1] == "4 run, 0 reuse, 4 leave out; 2 launches"


def with_another_toolchain_and_limits() -> dict:
    data = small_matrix()
    data["toolchains"]["there"] = data["toolchains"]["here"]
    data["limits"]["small"] = {"cpus": 1, "memory": "64MiB", "pids": 64, "threads": 1}
    data["benchmarks"]["double"]["limits"] = ["default", "small"]
    return data


def test_limits_and_toolchains_other_than_the_first_have_lines_of_their_own(plan):
    data = with_another_toolchain_and_limits()
    both = ("--limits", "default", "--limits", "small")
    text = plan(data, *both)
    groups = [line.split("  ")[1] for line in text.splitlines() if line.startswith("  double")]
    assert groups == ["double plain", "double plain small", "double plain there", "double plain there small"]
    lines = [line.partition(":")[0] for line in plan(data, "--all", *both).splitlines() if " seed " in line]
    assert len(lines) == len(set(lines)) == 16
    [platform] = data["platforms"]
    assert f"run       double n=4 plain {platform} there small seed 1" in lines


def test_a_group_with_one_reason_is_one_line(plan):
    text = plan(small_matrix(absent=["no-such-program-anywhere"]))
    assert "  double plain   4 run in 2 launches, unknown time: no record of this cell" in text
    assert '  double absent  4 leave out: no program "no-such-program-anywhere" here' in text


def test_a_group_with_several_reasons_says_which_cells_each_is_for(plan, write_matrix, tmp_path, capsys):
    data = small_matrix(other=program(DOUBLER))
    where = ["--matrix", str(write_matrix(data)), "--results", str(tmp_path / "results")]
    main([*where, "--executor", "local", "--seeds", "1"])
    capsys.readouterr()
    other = data["benchmarks"]["double"]["implementations"]["other"]
    other["without"] = {"n=4": "it cannot"}
    data["benchmarks"]["double"]["cases"]["n=8"]["length"] = 9
    text = plan(data, "--seeds", "1,2")
    assert (
        "  double other  2 run in 2 launches, unknown time\n"
        "                  1: other parameters: length 9, was 8 (n=8; seed 1)\n"
        "                  1: no record of this cell (n=8; seed 2)\n"
        "                2 leave out: it cannot (n=4)\n"
    ) in text


def test_the_same_plan_twice_is_the_same_page(plan):
    assert plan(small_matrix()) == plan(small_matrix())


def test_dry_run_is_the_plan(write_matrix, tmp_path, capsys):
    where = ["--matrix", str(write_matrix(small_matrix())), "--results", str(tmp_path / "r")]
    shown = []
    for words in (["plan"], ["--dry-run"], ["double", "--dry-run"]):
        assert main([*words, *where, "--executor", "local"]) == 0
        shown.append(capsys.readouterr().out)
    assert len(set(shown)) == 1
    assert not (tmp_path / "r").exists()
