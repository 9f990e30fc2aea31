"""The starter matrix: valid, complete in what it explains, and run as it is."""

import json
import os
import re
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import yaml
from pseudo_terminal import ROOT

from runner.cli.main import main
from runner.matrix import load_matrix
from runner.matrix.load import SCHEMA
from runner.records.store import Store
from runner.system import machine


@pytest.fixture
def starter(tmp_path, capsys) -> Path:
    path = tmp_path / "my matrix.yaml"
    assert main(["init", str(path)]) == 0
    capsys.readouterr()
    return path


def test_the_starter_is_a_valid_matrix_for_this_machine(starter):
    matrix = load_matrix(starter)
    assert matrix.architectures == (machine.architecture(),)
    assert len(matrix.profiles["quick"].seeds.native) >= 5


def test_it_runs_as_it_is_with_the_python_of_this_host(starter, tmp_path, capsys, monkeypatch):
    # The commands say python3: here that is the one that runs the tests, which has NumPy.
    monkeypatch.setenv("PATH", f"{ROOT / '.venv' / 'bin'}{os.pathsep}{os.environ['PATH']}")
    results = tmp_path / "results"
    where = ["--matrix", str(starter), "--results", str(results), "--executor", "local"]
    assert main([*where, "--profile", "smoke"]) == 0
    records = Store(results).records()
    assert {(each.implementation, each.case) for each in records} == {
        (name, case) for name in ("numpy", "loop") for case in ("n=1000", "n=10000")
    }
    assert not any(each.failed for each in records)
    captured = capsys.readouterr()
    assert "Running sums" in captured.out


def keys_of_the_schema() -> set[str]:
    schema = json.loads(SCHEMA.read_text())
    kinds = (
        "toolchain",
        "platform",
        "limits",
        "image",
        "profile",
        "benchmark",
        "tolerance",
        "implementation",
    )
    return {*schema["properties"], *(key for kind in kinds for key in schema["$defs"][kind]["properties"])}


@pytest.mark.parametrize("key", sorted(keys_of_the_schema()))
def test_every_key_of_a_matrix_is_explained_where_it_first_stands(starter, key):
    lines = starter.read_text().splitlines()
    first = next(number for number, line in enumerate(lines) if re.search(rf"(?<![\w-]){key}:", line))
    assert re.search(r"# .*\w", lines[first]) or re.match(r"\s*# .*\w", lines[first - 1])


def test_it_pins_what_the_shipped_matrix_pins(starter):
    shipped = yaml.safe_load((ROOT / "matrix.yaml").read_text())["toolchains"]["trixie"]
    assert yaml.safe_load(starter.read_text())["toolchains"]["trixie"] == shipped


def schema_named_in(path: Path) -> str:
    return re.fullmatch(r"# yaml-language-server: \$schema=(\S+)", path.read_text().splitlines()[0])[1]


def test_outside_a_checkout_the_schema_is_named_by_its_own_place(starter):
    address = urlsplit(schema_named_in(starter))
    assert address.scheme == "file"
    assert Path(address.path) == SCHEMA


def test_within_the_checkout_the_schema_is_named_relatively(capsys):
    path = ROOT / "results" / "local" / f"starter-{os.getpid()}.yaml"
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        assert main(["init", str(path)]) == 0
        named = schema_named_in(path)
    finally:
        path.unlink(missing_ok=True)
        capsys.readouterr()
    assert not Path(named).is_absolute()
    assert (path.parent / named).resolve() == SCHEMA


def test_a_file_that_is_there_is_kept_unless_forced(tmp_path, capsys):
    path = tmp_path / "matrix.yaml"
    path.write_text("mine")
    assert main(["init", str(path)]) == 2
    assert path.read_text() == "mine"
    captured = capsys.readouterr()
    assert "--force" in captured.err
    assert main(["init", "--force", str(path)]) == 0
    load_matrix(path)


def test_the_default_is_matrix_yaml_here_and_the_next_commands_are_said(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["init"]) == 0
    load_matrix(tmp_path / "matrix.yaml")
    said = capsys.readouterr().err
    assert "    forge-bench --matrix matrix.yaml plan\n" in said
    assert "    forge-bench --matrix matrix.yaml --executor local\n" in said


def test_a_name_with_a_blank_is_quoted_in_what_is_to_be_copied(tmp_path, capsys):
    assert main(["init", str(tmp_path / "my matrix.yaml")]) == 0
    assert f"--matrix '{tmp_path}/my matrix.yaml' plan" in capsys.readouterr().err
