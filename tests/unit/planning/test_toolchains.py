"""Which toolchains are run, and what a toolchain that lacks an image leaves out."""

import json
from pathlib import Path
from typing import Any

import pytest
from conftest import DOUBLER, program, small_matrix

from runner.cli.main import main
from runner.matrix import load_matrix
from runner.planning.cells import Selection, content_key, select
from runner.records.execution import Execution, ExecutionKind
from runner.records.ledger.file import read_ledger
from runner.records.ledger.lines import PlanLine
from runner.system.errors import MatrixError

NATIVE = Execution(kind=ExecutionKind.NATIVE, emulator=None)
SHIPPED = Path(__file__).parents[3] / "matrix.yaml"


def with_another(**more: Any) -> dict:
    """The toolchain ``there`` beside ``here``; the profile ``smoke`` runs ``here`` alone."""
    data = small_matrix(fast=program(DOUBLER))
    data["toolchains"]["there"] = {**data["toolchains"]["here"], "pytorch": "3.0.0", **more}
    data["profiles"]["smoke"]["toolchains"] = ["here"]
    return data


def selected(path: Path, profile: str, *toolchains: str) -> list[str]:
    matrix = load_matrix(path)
    cells = select(
        matrix,
        Selection(profile=profile, toolchains=toolchains),
        dict.fromkeys(matrix.platforms, NATIVE),
    )
    return list(dict.fromkeys(f"{each.benchmark.name} {each.toolchain.name}" for each in cells))


@pytest.mark.parametrize(
    ("profile", "toolchains", "expected"),
    [
        ("smoke", (), ["here"]),
        ("smoke", ("there",), ["there"]),
        ("smoke", ("there", "here"), ["here", "there"]),
        # A profile that names none runs all.
        ("quick", (), ["here", "there"]),
        ("quick", ("there",), ["there"]),
    ],
)
def test_the_profiles_toolchains_run_or_those_that_are_named(write_matrix, profile, toolchains, expected):
    found = selected(write_matrix(with_another()), profile, *toolchains)
    assert found == [f"double {each}" for each in expected]


def test_another_toolchain_selects_no_other_benchmark(write_matrix):
    data = with_another()
    data["benchmarks"]["asked"] = {**data["benchmarks"]["double"], "on_request": True}
    assert selected(write_matrix(data), "smoke", "there") == ["double there"]


def test_a_toolchain_that_there_is_not_is_an_error(write_matrix, capsys):
    path = str(write_matrix(with_another()))
    assert main(["plan", "--matrix", path, "--executor", "local", "--toolchain", "thre"]) == 2
    assert 'no toolchain "thre"; did you mean "there"?' in capsys.readouterr().err


def test_images_that_a_toolchain_lacks_leave_their_implementations_out_with_the_reason(
    write_matrix, tmp_path, capsys
):
    data = with_another(without={"peers": "no wheels for it"})
    data["benchmarks"]["double"]["implementations"]["fast"]["image"] = "peers"
    where = ["--matrix", str(write_matrix(data)), "--results", str(tmp_path / "results")]
    main(["plan", *where, "--executor", "local", "--profile", "smoke", "--toolchain", "there", "--json"])
    cells = json.loads(capsys.readouterr().out)["cells"]
    reasons = {(each["implementation"], each["decision"], each["why"]) for each in cells}
    assert ("fast", "leave out", "no wheels for it") in reasons
    assert {each[1] for each in reasons if each[0] == "plain"} == {"run"}
    # The toolchain that has the image leaves nothing out for this reason.
    main(["plan", *where, "--executor", "local", "--profile", "smoke", "--json"])
    assert "no wheels for it" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("edit", "said"),
    [
        (
            lambda data: data["profiles"]["smoke"].update(toolchains=["hre"]),
            'no toolchain "hre"; did you mean "here"?',
        ),
        (
            lambda data: data["toolchains"]["there"].update(without={"pears": "why"}),
            'no image "pears"; did you mean "peers"?',
        ),
        (
            lambda data: data["toolchains"]["there"].update(without={"core": "why"}),
            "every reference runs in the image core",
        ),
    ],
)
def test_names_of_toolchains_and_images_that_there_are_not_are_faults(write_matrix, edit, said):
    data = with_another()
    edit(data)
    with pytest.raises(MatrixError) as caught:
        load_matrix(write_matrix(data))
    assert said in caught.value.what


def keys(path: Path, *toolchains: str) -> dict[str, str]:
    matrix = load_matrix(path)
    cells = select(
        matrix,
        Selection(profile="quick", toolchains=toolchains),
        dict.fromkeys(matrix.platforms, NATIVE),
    )
    return {
        str(each): content_key(each, execution_hash="h", execution=NATIVE, executor="docker", machine={})
        for each in cells
    }


def test_another_toolchain_changes_no_cell_of_the_first(write_matrix):
    before = keys(write_matrix(small_matrix(fast=program(DOUBLER))))
    data = with_another(without={"peers": "no wheels for it"})
    assert keys(write_matrix(data), "here") == before
    assert not set(keys(write_matrix(data), "there").values()) & set(before.values())


def test_which_images_a_toolchain_lacks_is_part_of_no_content_key(write_matrix):
    assert keys(write_matrix(with_another()), "there") == keys(
        write_matrix(with_another(without={"peers": "no wheels for it"})), "there"
    )


def test_a_run_with_another_toolchain_has_pages_and_a_ledger_that_name_it(write_matrix, tmp_path, capsys):
    results = tmp_path / "results"
    where = ["--matrix", str(write_matrix(with_another())), "--results", str(results), "--executor", "local"]
    assert main(["--profile", "smoke", *where]) == 0
    page = results / "tables" / "smoke" / "double.md"
    assert "there" not in page.read_text()
    assert main(["--profile", "smoke", "--toolchain", "there", *where]) == 0
    capsys.readouterr()
    [platform] = with_another()["platforms"]
    text = page.read_text()
    assert f"## {platform}\n" in text
    assert f"## {platform}, there\n" in text
    assert "| here: PyTorch 2.0.0 | there: PyTorch 3.0.0 |" in text.replace("  ", "")
    plans = [line for line in read_ledger(results / "ledger.jsonl").lines if isinstance(line, PlanLine)]
    assert [plan.options.get("toolchain") for plan in plans] == [None, ("there",)]


def test_the_shipped_short_profiles_run_the_first_toolchain_alone():
    matrix = load_matrix(SHIPPED)
    first = next(iter(matrix.toolchains))
    for name, profile in matrix.profiles.items():
        found = [each.name for each in Selection(profile=name).toolchains_of(matrix)]
        assert found == (list(matrix.toolchains) if name == "full" else [first]), profile
