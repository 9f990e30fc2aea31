"""Why a cell runs, when a record of it is there: by the fields that a record holds, one by one."""

import json
import shutil
from pathlib import Path

import pytest
from conftest import DOUBLER, program, small_matrix
from example_records import json_of
from refitting import refitted

from runner.cli.main import main
from runner.planning.key_differences import differences
from runner.records import key
from runner.records.record import Record, record_of
from runner.records.store import Store
from runner.system import machine


@pytest.fixture(scope="module")
def earlier_runs() -> dict[str, Path]:
    """Where the results of a first run of each matrix lie, by the matrix: a plan over them changes nothing."""
    return {}


@pytest.fixture
def plan(tmp_path, tmp_path_factory, earlier_runs, write_matrix, capsys):
    """Plan over a matrix and a store that the same matrix has filled; returns each cell's reasons."""
    results = tmp_path / "results"

    def call(data: dict, *arguments: str) -> dict[str, set[str]]:
        path = write_matrix(data)
        where = ["--matrix", str(path), "--results", str(results), "--executor", "local"]
        assert main(["plan", "--json", *arguments, *where]) == 0
        reasons: dict[str, set[str]] = {}
        for cell in json.loads(capsys.readouterr().out)["cells"]:
            reasons.setdefault(f"{cell['decision']} {cell['implementation']} {cell['case']}", set()).add(
                cell["why"]
            )
        return reasons

    def run(data: dict, *arguments: str) -> None:
        first, matrix = not results.exists() and not arguments, json.dumps(data)
        if first and matrix in earlier_runs:
            shutil.copytree(earlier_runs[matrix], results)
            return
        where = ["--matrix", str(write_matrix(data)), "--results", str(results), "--executor", "local"]
        main(["--profile", "smoke", *where, *arguments])
        capsys.readouterr()
        if first:
            earlier_runs[matrix] = shutil.copytree(results, tmp_path_factory.mktemp("earlier") / "results")

    call.run = run
    call.store = Store(results)
    return call


def double(data: dict) -> dict:
    return data["benchmarks"]["double"]


def edited(change=lambda _: None) -> dict:
    data = small_matrix(other=program(DOUBLER))
    change(data)
    return data


CHANGES = {
    "its command changed": lambda data: double(data)["implementations"]["other"].update(
        command=program(DOUBLER + "\n")
    ),
    "other parameters: length 5, was 4": lambda data: double(data)["cases"]["n=4"].update(length=5),
    "other parameters: extra 1, was none": lambda data: double(data)["cases"]["n=4"].update(extra=1),
    "other limits: memory 2 GiB, was 1 GiB; pids 65, was 64": lambda data: data["limits"]["default"].update(
        memory="2GiB", pids=65
    ),
    "its gate changed": lambda data: double(data)["gate"]["outputs"]["y.npy"].update(rtol=1e-8),
    "its expected counts changed": lambda data: double(data)["counts"].update(elements="length + 0"),
    "the inputs' generator changed": lambda data: double(data)["inputs"].append("--case"),
    "the reference's command changed": lambda data: double(data)["implementations"]["plain"].update(
        command=program(DOUBLER + "\n")
    ),
}


@pytest.mark.parametrize("reason", CHANGES)
def test_a_change_of_the_matrix_is_the_reason_by_name(plan, reason):
    plan.run(edited())
    found = plan(edited(CHANGES[reason]), "--profile", "smoke")
    assert found["run other n=4"] == {reason}


def test_another_toolchain_changes_what_the_image_is_made_of_too(plan):
    plan.run(edited())
    found = plan(edited(lambda data: data["toolchains"]["here"].update(rust="1.1.0")), "--profile", "smoke")
    (why,) = found["run other n=4"]
    assert why == "another toolchain: rust 1.1.0, was 1.0.0; files of the checkout changed"


def test_what_did_not_change_is_reused_and_what_was_never_run_says_so(plan):
    plan.run(edited())
    data = edited(lambda data: double(data)["implementations"].update(third={"command": program(DOUBLER)}))
    found = plan(data, "--profile", "smoke")
    assert found["run third n=4"] == {"no record of this cell"}
    assert {name.split()[0] for name in found if "third" not in name} == {"reuse"}


def test_work_that_differs_now_is_the_reason(plan):
    plan.run(small_matrix(other=program(DOUBLER)))
    data = small_matrix(other=program(DOUBLER))
    double(data)["implementations"]["other"]["differs"] = ["it rounds"]
    assert plan(data, "--profile", "smoke")["run other n=4"] == {"what differs in its work changed"}


def test_a_failure_and_the_wish_for_fresh_records_are_reasons(plan):
    data = small_matrix(bent=program("sys.exit(1)"))
    plan.run(data)
    assert plan(data, "--profile", "smoke")["run bent n=4"] == {"failed before: exit-code"}
    fresh = plan(data, "--profile", "smoke", "--fresh")
    assert fresh["run plain n=4"] == {"asked to run again, although a record exists"}


def test_a_reference_whose_outputs_were_removed_runs_for_those_that_wait_for_it(plan):
    plan.run(small_matrix())
    for path in sorted((plan.store.root / "references").rglob("*"), reverse=True):
        path.unlink() if path.is_file() else path.rmdir()
    found = plan(small_matrix(other=program(DOUBLER)), "--profile", "smoke")
    (why,) = found["run plain n=4"]
    assert "others are compared with its outputs" in why


def of_another(record: Record, edit, *, key: str = "0" * 64) -> Record:
    data = json_of(record)
    edit(data)
    return record_of(refitted(data | {"key": key}))


ELSEWHERE = {
    "another machine: cpu_model Abacus 3000, was {cpu}": lambda data: data["machine"].update(
        cpu_model="Abacus 3000"
    ),
    "another executor: local, was docker": lambda data: data["launch"].update(executor="docker"),
    "executed otherwise: kind native, was emulated; emulator none, was qemu-x 9": lambda data: data.update(
        execution={"kind": "emulated", "emulator": "qemu-x 9"}
    ),
    "files of the checkout changed": lambda data: data["image"].update(execution_hash="host:" + "1" * 64),
}


@pytest.mark.parametrize("reason", ELSEWHERE)
@pytest.mark.parametrize("schema", [1, 2, 3])
def test_a_record_from_elsewhere_is_the_reason_whatever_its_schema(plan, reason, schema):
    data = small_matrix()
    plan.run(data)
    records = plan.store.records()
    for path in plan.store.records_directory.rglob("*.json"):
        path.unlink()

    def edit(each: dict) -> None:
        ELSEWHERE[reason](each)
        each["schema"] = schema
        if schema < 3:
            del each["key_version"]
        if schema == 1:
            del each["work"], each["launch"]["cases"]

    for record in records:
        # Each case has a key of its own, in the first schema too.
        plan.store.add(of_another(record, edit, key=record.case[2:].ljust(64, "0")))
    found = plan(data, "--profile", "smoke")
    if "Abacus" in reason:
        reason = "another machine: cpu_model {cpu}, was Abacus 3000"
    expected = reason.replace("{cpu}", shortened(machine.fingerprint()["cpu_model"]))
    assert found["run plain n=4"] == {expected}


def shortened(text: str) -> str:
    return text if len(text) <= 40 else text[:38] + ".."


def test_the_record_that_differs_least_is_the_one_that_is_told(plan):
    plan.run(small_matrix())
    plan.run(edited(lambda data: double(data)["cases"]["n=4"].update(length=5, extra=1)))
    both = edited(
        lambda data: (
            double(data)["cases"]["n=4"].update(length=5, extra=1),
            double(data)["gate"]["outputs"]["y.npy"].update(rtol=1e-8),
        )
    )
    assert plan(both, "--profile", "smoke")["run plain n=4"] == {"its gate changed"}


def test_an_old_record_of_another_key_whose_every_field_is_the_same_names_what_it_cannot_hold(plan):
    plan.run(small_matrix())
    record = plan.store.records()[0]

    def older(data: dict) -> None:
        data["schema"] = 1
        del data["work"], data["launch"]["cases"], data["key_version"]

    old = of_another(record, older)
    now = {
        "command": old.command,
        "parameters": old.parameters,
        "machine": machine.fingerprint(),
        "architecture": old.image.architecture,
        "execution_hash": old.image.execution_hash,
        "execution": old.execution.plain(),
        "executor": "local",
    }
    assert differences(old, {1: now}) == ("its gate, counts, headline, inputs or reference changed",)


def test_other_files_in_an_image_are_told_from_other_files_of_a_checkout(plan):
    plan.run(small_matrix())
    record = plan.store.records()[0]

    def edit(data: dict) -> None:
        data["image"].update(execution_hash="1" * 64)
        data["schema"] = 1
        del data["work"], data["key_version"]

    elsewhere = of_another(record, edit)
    now = {
        **{"command": record.command, "parameters": record.parameters, "executor": "local"},
        **{"machine": machine.fingerprint(), "architecture": record.image.architecture},
        "execution": record.execution.plain(),
    }
    assert differences(elsewhere, {1: {**now, "execution_hash": "2" * 64}}) == (
        "inputs of the image changed",
    )
    assert differences(elsewhere, {1: {**now, "execution_hash": "host:2"}}) == (
        "files of the checkout changed",
    )


@pytest.fixture
def later_rules(monkeypatch):
    """A second version of the rules, by which a key depends on one thing more."""

    def add() -> None:
        first = key.KEY_VERSIONS[1]
        rules = {1: first, 2: lambda of: {**first(of), "weather": "fine"}}
        monkeypatch.setattr(key, "KEY_VERSIONS", rules)

    return add


def test_records_of_earlier_rules_are_found_by_their_own_and_new_ones_say_theirs(plan, later_rules):
    plan.run(small_matrix())
    assert {record.made_by_rules for record in plan.store.records()} == {1}
    later_rules()
    found = plan(small_matrix(other=program(DOUBLER)), "--profile", "smoke")
    assert {name.partition(" ")[0] for name in found if " plain " in name} == {"reuse"}
    plan.run(small_matrix(other=program(DOUBLER)))
    rules = {(record.implementation, record.made_by_rules) for record in plan.store.records()}
    assert rules == {("plain", 1), ("other", 2)}


def test_a_record_of_earlier_rules_is_compared_by_those(plan, later_rules):
    plan.run(small_matrix())
    later_rules()
    longer = edited(lambda data: double(data)["cases"]["n=4"].update(length=5))
    (why,) = plan(longer, "--profile", "smoke")["run plain n=4"]
    assert why == "other parameters: length 5, was 4"


def test_a_cell_that_runs_again_is_keyed_by_the_newest_rules(plan, later_rules):
    plan.run(small_matrix())
    later_rules()
    plan.run(small_matrix(), "--fresh")
    assert [record.made_by_rules for record in plan.store.records()] == [1, 1, 2, 2]
