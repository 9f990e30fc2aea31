"""Records are held against a matrix: whose work they are, what they may ask for, what is started on a host."""

import json
from collections.abc import Callable
from typing import Any

import pytest
import yaml

from runner.matrix import load_matrix
from runner.planning.definition import definition_of
from runner.planning.recipe import load_work
from runner.records.record import content_hash
from runner.system.errors import NothingDecided, OtherWork
from runner.verify.binding import allowed, deadlines, differences
from verify.made import DOUBLER, Forge, program, steered

SMOKE = ("--profile", "smoke")
OTHER = OtherWork.exit_code
# A process that leaves a trace, so that a test sees whether it was started.
TRACE = "pathlib.Path({path!r}).write_text('started')\n"


@pytest.fixture
def forge(tmp_path, capsys) -> Forge:
    forge = Forge.of(tmp_path, capsys)
    forge.run(*SMOKE, other=DOUBLER)
    return forge


def changed_matrix(forge: Forge, change: Callable[[dict[str, Any]], None]):
    data = yaml.safe_load((forge.directory / "matrix.yaml").read_text())
    change(data)
    path = forge.directory / "changed.yaml"
    path.write_text(yaml.safe_dump(data, sort_keys=False))
    return path


def difference(forge: Forge, change: Callable[[dict[str, Any]], None]) -> set[str]:
    matrix = load_matrix(changed_matrix(forge, change))
    return {
        each
        for record in forge.store.records()
        for each in differences(load_work(record).cell, matrix, profile=record.profile, emulated=False)
    }


def test_records_are_the_work_of_the_matrix_that_they_were_made_with(forge):
    assert difference(forge, lambda _: None) == set()
    code, out, _ = forge.verify()
    assert code == NothingDecided.exit_code
    assert "Not the work of this matrix" not in out


def double(data: dict[str, Any]) -> dict[str, Any]:
    return data["benchmarks"]["double"]


CHANGES = {
    "implementations.other.command": (
        lambda data: double(data)["implementations"]["other"].update(command=["sleep", "10"]),
        "command is ",
    ),
    "the reference's command": (
        lambda data: double(data)["implementations"]["plain"].update(command=["true"]),
        "reference.command is ",
    ),
    "the generator": (lambda data: double(data).update(inputs=["true"]), "inputs is "),
    "a gate's bound": (
        lambda data: double(data)["gate"]["outputs"]["y.npy"].update(rtol=0.5),
        "gate.outputs.0.rtol is ",
    ),
    "what is counted": (
        lambda data: double(data).update(counts={"elements": "length + 1"}),
        "counts.elements is ",
    ),
    "a case's size": (
        lambda data: double(data)["cases"]["n=4"].update(length=5),
        "parameters.length is 4 in the record, and 5 in the matrix",
    ),
    "what an implementation promises": (
        lambda data: double(data)["implementations"]["other"].update(determinism="none"),
        'determinism is "portable" in the record, and "none" in the matrix',
    ),
    "memory": (
        lambda data: next(iter(data["limits"].values())).update(memory="7GiB"),
        "limits.memory_bytes is ",
    ),
    "a pin": (
        lambda data: next(iter(data["toolchains"].values())).update(rust="1.70.0"),
        "toolchain.rust is ",
    ),
    "a name": (
        lambda data: double(data)["implementations"].update(
            others=double(data)["implementations"].pop("other")
        ),
        'the matrix has no implementation "other"; did you mean "others"',
    ),
    "a profile": (
        lambda data: (
            data["profiles"].update(tiny=data["profiles"].pop("smoke")),
            double(data)["profiles"].update(tiny=double(data)["profiles"].pop("smoke")),
        ),
        'the matrix has no profile "smoke"',
    ),
}


@pytest.mark.parametrize("what", CHANGES)
def test_a_record_whose_definition_the_matrix_does_not_have_says_where_it_differs(forge, what):
    change, words = CHANGES[what]
    found = difference(forge, change)
    assert any(each.startswith(words) for each in found), found


def test_what_is_no_work_of_the_matrix_has_an_exit_code_and_a_place_in_the_report(forge):
    matrix = changed_matrix(forge, CHANGES["what an implementation promises"][0])
    code, out, err = forge.verify_by(matrix, "--trust-commands")
    assert code == OTHER
    assert "Not the work of this matrix:" in out
    assert "double n=4 other" in out
    assert "2 of 4 records are not the work of this matrix" in err
    _, out, _ = forge.verify_by(matrix, "--trust-commands", "--json")
    told = {cell["implementation"]: cell["not_of_this_matrix"] for cell in json.loads(out)["cells"]}
    assert told["plain"] == []
    assert told["other"] != []


def test_a_command_that_the_matrix_does_not_have_is_not_started_on_a_host(tmp_path, capsys):
    forge, trace = Forge.of(tmp_path, capsys), tmp_path / "trace"
    forge.run(*SMOKE, other=TRACE.format(path=str(trace)) + DOUBLER)
    trace.unlink()
    harmless = changed_matrix(
        forge, lambda data: double(data)["implementations"]["other"].update(command=program(DOUBLER))
    )
    code, out, err = forge.verify_by(harmless)
    assert (code, out, trace.exists()) == (OTHER, "", False)
    assert "command is" in err
    assert "--trust-commands" in err
    code, _, _ = forge.verify_by(harmless, "--trust-commands")
    assert (code, trace.exists()) == (OTHER, True), "what is trusted is run, and stays other work"


def test_a_record_decides_neither_limits_nor_deadline_of_this_machine(forge):
    matrix = load_matrix(forge.directory / "matrix.yaml")
    record = forge.store.records()[0]
    own = load_work(record).cell.limits
    greedy = type(own)(name=own.name, cpus=own.cpus, memory_bytes=2**50, pids=10**9, threads=own.threads)
    assert allowed(greedy, matrix) == own
    assert allowed(own, matrix) == own
    assert deadlines("smoke", matrix) == matrix.profiles["smoke"].deadline_seconds
    assert deadlines("eternity", matrix).native == max(
        each.deadline_seconds.native for each in matrix.profiles.values()
    )


def test_one_definition_has_one_hash_whoever_holds_it(forge):
    cells = [load_work(record).cell for record in forge.store.records()]
    by_name = {(cell.implementation.name, content_hash(definition_of(cell))) for cell in cells}
    assert {name for name, _ in by_name} == {"plain", "other"}
    assert len(by_name) == 2, "cases of one implementation have one definition"


def test_a_rank_is_reproduced_where_both_intervals_rank_alike_and_shown_with_its_margin(tmp_path, capsys):
    forge = Forge.of(tmp_path, capsys)
    forge.steer(seconds=1e-6)
    fixed = DOUBLER.replace("[seconds]", "[1e-5 * (1 + arguments.seed / 1000)]")

    def timed_reference(data: dict[str, Any]) -> None:
        double(data)["implementations"]["plain"]["command"] = program(fixed)
        del double(data)["cases"]["n=8"]

    forge.run("--seeds", "1,2,3,4,5", change=timed_reference, steered=steered(tmp_path))
    code, figures = forge.figures()
    ((verdict, why),) = figures["steered rank"]
    assert (code, verdict) == (0, "reproduced"), why
    assert "faster both times" in why
    forge.steer(seconds=2e-5)
    code, figures = forge.figures()
    ((verdict, why),) = figures["steered rank"]
    assert (code, verdict) == (10, "differs"), why
    assert "faster then, slower now" in why
    forge.steer(seconds=1e-5)
    _, figures = forge.figures()
    ((verdict, why),) = figures["steered rank"]
    assert verdict == "inconclusive", "a rank inside its own margin is blessed by nobody"
    _, out, _ = forge.verify()
    assert "times faster than its reference, then" in out
