"""What runs on request is selected by being named, and no page misses it; limits are a benchmark's own."""

from pathlib import Path
from typing import Any

import pytest
from conftest import DOUBLER, program, small_matrix
from example_records import MATRIX, dqn_records, example_matrix, gae_records

from runner.cli.main import main
from runner.matrix import load_matrix
from runner.planning.cells import Selection, select
from runner.records.execution import Execution, ExecutionKind
from runner.report.tables.pages import render_pages
from runner.system.errors import MatrixError


def matrix_with(**more: Any) -> dict:
    """The benchmark ``double``, and ``asked``, the same on request."""
    data = small_matrix(fast=program(DOUBLER))
    data["benchmarks"]["asked"] = {**data["benchmarks"]["double"], "on_request": True, **more}
    return data


def selected(path: Path, *only: str, limits: tuple[str, ...] = ()) -> set[str]:
    matrix = load_matrix(path)
    native = dict.fromkeys(matrix.platforms, Execution(kind=ExecutionKind.NATIVE, emulator=None))
    cells = select(matrix, Selection(profile="smoke", only=only, limits=limits), native)
    return {f"{each.benchmark.name}/{each.implementation.name} {each.limits.name}" for each in cells}


@pytest.mark.parametrize(
    ("only", "expected"),
    [
        ((), {"double/plain", "double/fast"}),
        (("double",), {"double/plain", "double/fast"}),
        (("asked",), {"asked/plain", "asked/fast"}),
        (("asked/fast", "double/plain"), {"asked/fast", "double/plain"}),
        (("*/fast",), {"asked/fast", "double/fast"}),
    ],
)
def test_what_is_on_request_runs_where_it_is_named(write_matrix, only, expected):
    assert selected(write_matrix(matrix_with()), *only) == {f"{each} default" for each in expected}


def test_a_benchmark_runs_under_its_own_limits_and_else_under_the_first(write_matrix):
    data = matrix_with(limits=["small"])
    data["limits"]["small"] = {"cpus": 1, "memory": "64MiB", "pids": 64, "threads": 1}
    assert selected(write_matrix(data), "*/plain") == {"double/plain default", "asked/plain small"}


@pytest.mark.parametrize(
    ("limits", "expected"),
    [
        ((), {"double/plain default"}),
        (("small",), {"double/plain small", "asked/plain small"}),
        (("default", "small"), {"double/plain default", "double/plain small", "asked/plain small"}),
    ],
)
def test_limits_beside_a_benchmarks_first_run_where_they_are_named(write_matrix, limits, expected):
    data = matrix_with(limits=["small"])
    data["limits"]["small"] = {**data["limits"]["default"], "pids": 32}
    data["benchmarks"]["double"]["limits"] = ["default", "small"]
    del data["benchmarks"]["double"]["implementations"]["fast"]
    assert selected(write_matrix(data), limits=limits) == expected


def test_limits_that_nothing_selected_has_are_an_error(write_matrix, capsys):
    path = str(write_matrix(matrix_with()))
    assert main(["plan", "--matrix", path, "--executor", "local", "--limits", "defualt"]) == 2
    assert '--limits defualt selects nothing; did you mean "default"?' in capsys.readouterr().err


def test_limits_that_there_are_not_are_a_fault(write_matrix):
    data = matrix_with(limits=["smal"])
    data["limits"]["small"] = data["limits"]["default"]
    with pytest.raises(MatrixError) as caught:
        load_matrix(write_matrix(data))
    assert 'no limits "smal"; did you mean "small"?' in caught.value.what


def test_pages_show_what_is_on_request_once_somebody_asked(tmp_path):
    matrix = example_matrix(tmp_path, MATRIX.replace("  dqn:\n", "  dqn:\n    on_request: true\n"))

    def pages(records):
        pages = render_pages(matrix, records, profile="quick")
        return [page.name for page in pages if page.ending == "md"]

    assert pages(gae_records()) == ["overview", "summary", "gae", "methodology"]
    assert pages(gae_records() + dqn_records()) == ["overview", "summary", "gae", "dqn", "methodology"]


def test_a_profile_runs_the_benchmarks_that_it_names_and_others_by_name(write_matrix):
    data = matrix_with()
    del data["benchmarks"]["asked"]["on_request"]
    data["profiles"]["smoke"]["benchmarks"] = ["double"]
    path = write_matrix(data)
    assert selected(path) == {"double/plain default", "double/fast default"}
    assert selected(path, "asked/fast") == {"asked/fast default"}


def test_a_profile_cannot_name_what_there_is_not(write_matrix):
    data = matrix_with()
    data["profiles"]["smoke"]["benchmarks"] = ["duoble"]
    with pytest.raises(MatrixError) as caught:
        load_matrix(write_matrix(data))
    assert 'profiles.smoke.benchmarks.0: no benchmark "duoble"; did you mean "double"?' in caught.value.what


def test_platforms_that_run_natively_come_first(write_matrix):
    data = matrix_with()
    first, second = "amd64", "arm64"
    data["platforms"] = {first: {"architecture": first}, second: {"architecture": second}}
    matrix = load_matrix(write_matrix(data))
    native, emulated = (
        Execution(kind=kind, emulator=None) for kind in (ExecutionKind.NATIVE, ExecutionKind.EMULATED)
    )
    for executions, expected in (
        ({first: native, second: emulated}, [first, second]),
        ({first: emulated, second: native}, [second, first]),
    ):
        cells = select(matrix, Selection(profile="smoke", only=("double/plain",)), executions)
        assert list(dict.fromkeys(each.platform.name for each in cells)) == expected
