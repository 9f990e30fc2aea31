"""What tells one machine from another, in content keys, estimates and comparisons alike."""

import json

import pytest
from conftest import small_matrix

from runner.cli.main import main
from runner.figures.comparison import machine_of
from runner.records.record import seal
from runner.records.store import Store
from runner.system import machine
from runner.system.errors import ContradictoryRecord

GIB = 2**30
ONE = {
    "cpu_model": "Abacus",
    "architecture": "amd64",
    "logical_cpus": 2,
    "memory_bytes": 24 * GIB - 500_000_000,
}
# What kernels keep for themselves differs by kB from one boot to the next; 8 MiB is more than was ever seen.
AFTER_A_BOOT = 8 * 2**20


def test_a_reboot_makes_no_other_machine():
    for change in (-AFTER_A_BOOT, -4096, 4096, AFTER_A_BOOT):
        rebooted = {**ONE, "memory_bytes": ONE["memory_bytes"] + change}
        assert machine.fingerprint(rebooted) == machine.fingerprint(ONE)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("cpu_model", "Other"),
        ("architecture", "arm64"),
        ("logical_cpus", 4),
        ("memory_bytes", 32 * GIB),
        ("memory_bytes", None),
    ],
)
def test_another_machine_is_another_one(key, value):
    assert machine.fingerprint({**ONE, key: value}) != machine.fingerprint(ONE)


def test_what_a_machine_does_and_runs_makes_no_other_one():
    assert machine.fingerprint({**ONE, "kernel": "6.1", "governor": "powersave"}) == machine.fingerprint(ONE)


def test_a_record_that_says_nothing_of_its_machine_is_of_none_that_is_known():
    assert set(machine.fingerprint({}).values()) == {None}


def test_this_machine_is_the_one_that_its_description_is_of():
    assert machine.fingerprint() == machine.fingerprint(machine.describe())


def test_after_a_reboot_records_are_reused_times_known_and_figures_comparable(
    tmp_path, write_matrix, monkeypatch, capsys
):
    results = tmp_path / "results"
    where = ["--matrix", str(write_matrix(small_matrix())), "--results", str(results)]

    def forge(*words: str) -> str:
        assert main([*words, "--profile", "smoke", "--executor", "local", *where]) == 0
        return capsys.readouterr().out

    forge()
    before = Store(results).records()
    described = machine.describe()
    memory = described["memory_bytes"] - 4096
    monkeypatch.setattr(machine, "describe", lambda: {**described, "memory_bytes": memory})
    assert {cell["decision"] for cell in json.loads(forge("plan", "--json"))["cells"]} == {"reuse"}
    launches = json.loads(forge("plan", "--json", "--fresh"))["launches"]
    assert launches
    assert all(each["estimate"] is not None for each in launches)
    forge("--fresh")
    after = Store(results).records()[len(before) :]
    assert {each.machine.memory_bytes for each in after} == {memory}, "a record has the exact figure"
    assert {machine_of(each) for each in before} == {machine_of(each) for each in after}


def test_a_record_whose_key_no_known_rules_made_is_refused(tmp_path, write_matrix, capsys):
    results = tmp_path / "results"
    where = ["--matrix", str(write_matrix(small_matrix())), "--results", str(results)]
    common = ["--profile", "smoke", "--executor", "local", *where]
    assert main(common) == 0
    for path in sorted((results / "records").rglob("*.json")):
        data = json.loads(path.read_text())
        # As they were while the exact bytes of memory were part of the key.
        fields = {key: value for key, value in data.items() if key != "content_sha256"}
        key = "0" * 63 + data["cell"]["case"][-1]
        name = data["id"].partition("-")[0]
        path.write_text(json.dumps(seal({**fields, "key": key, "id": f"{name}-{key[:16]}"})))
    capsys.readouterr()
    assert main(["plan", "--json", *common]) == ContradictoryRecord.exit_code
    assert "the content gives the key" in capsys.readouterr().err
