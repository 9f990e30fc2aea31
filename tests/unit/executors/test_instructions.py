"""Limits that cap the instructions: what a launch is told, where it is left out, and what its records say."""

import json

import pytest
from conftest import DOUBLER, program, small_matrix

from runner.cli.main import main
from runner.executors.instructions import environment, left_out, left_out_here
from runner.matrix import Instructions, Limits, Platform
from runner.planning.cells import content_key
from runner.planning.recipe import load_work
from runner.records.execution import Execution, ExecutionKind
from runner.records.record import SCHEMA
from runner.records.store import Store
from runner.system import machine
from runner.system.schema import schema

ORDINARY = Limits(name="default", cpus=1, memory_bytes=2**30, pids=64, threads=1)
CAPPED = Limits(**{**vars(ORDINARY), "name": "avx2", "instructions": Instructions.AVX2})
AMD64, ARM64 = (Platform(name=name, architecture=name) for name in ("amd64", "arm64"))


def test_only_a_launch_that_is_capped_is_told_so():
    assert environment(ORDINARY) == {}
    told = environment(CAPPED)
    assert told["FORGE_BENCH_SIMD"] == told["ATEN_CPU_CAPABILITY"] == "avx2"
    assert "AVX512F" in told["NPY_DISABLE_CPU_FEATURES"].split()


@pytest.mark.parametrize(
    ("limits", "platform", "simd", "reason"),
    [
        (ORDINARY, ARM64, (), None),
        (CAPPED, AMD64, ("avx", "avx2"), None),
        (CAPPED, AMD64, ("avx",), "this machine has no avx2"),
        (CAPPED, ARM64, ("asimd",), "avx2 is no instruction set of arm64"),
        (CAPPED, ARM64, ("avx2",), "avx2 is no instruction set of arm64"),
    ],
)
def test_where_the_instructions_do_not_exist_there_is_no_such_cell(limits, platform, simd, reason):
    assert left_out_here(limits, platform, simd) == reason
    assert left_out(limits, platform) == (reason if platform is ARM64 else None)


def test_limits_without_a_cap_have_the_facts_that_older_records_are_keyed_on():
    assert ORDINARY.facts() == {"cpus": 1, "memory_bytes": 2**30, "pids": 64, "threads": 1}
    assert CAPPED.facts() == {**ORDINARY.facts(), "instructions": "avx2"}


TELLING = """
import os
print(os.environ.get("FORGE_BENCH_SIMD"), os.environ.get("ATEN_CPU_CAPABILITY"), file=sys.stderr)
"""


@pytest.fixture
def plan_and_run(tmp_path, write_matrix, capsys, monkeypatch):
    """Plan and run a capped matrix on a processor that has these; the plan's cells and the store."""

    def call(simd):
        data = small_matrix(other=program(TELLING + DOUBLER))
        data["limits"]["default"]["instructions"] = "avx2"
        described = machine.describe()
        monkeypatch.setattr(machine, "describe", lambda: {**described, "simd": simd})
        common = ("--profile", "smoke", "--matrix", str(write_matrix(data)), "--executor", "local")
        common += ("--results", str(tmp_path / "results"))
        assert main(["plan", "--json", *common]) == 0
        cells = json.loads(capsys.readouterr().out)["cells"]
        assert main([*common]) == 0
        return cells, Store(tmp_path / "results").records()

    return call


def test_a_capped_launch_is_told_and_its_record_runs_as_the_same_cell_again(plan_and_run):
    _, records = plan_and_run(["avx2"])
    assert len(records) == (4 if machine.architecture() == "amd64" else 0)
    assert not records or {each.data["launch"]["stderr_tail"].strip() for each in records} == {
        "",
        "avx2 avx2",
    }
    for record in records:
        assert list(schema(SCHEMA).faults(dict(record.data))) == []
        assert record.data["work"]["limits"]["instructions"] == "avx2"
        cell = load_work(record).cell
        assert cell.limits.instructions is Instructions.AVX2
        assert record.key == content_key(
            cell,
            execution_hash=record.data["image"]["execution_hash"],
            execution=Execution(kind=ExecutionKind.NATIVE),
            executor="local",
            machine=machine.fingerprint(),
        )


def test_a_processor_without_the_instructions_runs_none_of_it_and_says_why(plan_and_run):
    cells, records = plan_and_run(["sse4_2"])
    assert records == []
    assert {each["decision"] for each in cells} == {"leave out"}
    reasons = {each["why"] for each in cells}
    assert all("avx2" in why for why in reasons), reasons
