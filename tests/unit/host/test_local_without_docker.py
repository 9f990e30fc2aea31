"""What the local executor runs on a bare host, and what it leaves out, with the exact reason."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from textwrap import dedent

import pytest
from conftest import DOUBLER, program, small_matrix

from runner.cli.main import main
from runner.executors import modules
from runner.executors.local import LocalExecutor
from runner.executors.modules import missing_modules, own_python_first
from runner.matrix import Determinism, Implementation, Platform
from runner.matrix.images import CORE
from runner.records.store import Store
from runner.system import machine

HERE = Platform(name="here", architecture=machine.architecture())
Write = Callable[..., dict[str, str]]


@pytest.fixture
def package(tmp_path: Path) -> Write:
    """A package ``ours`` of these modules; returns the environment in which it is found."""

    def write(**files: str) -> dict[str, str]:
        (tmp_path / "ours").mkdir()
        for name, text in {"__init__": "", **files}.items():
            (tmp_path / "ours" / f"{name}.py").write_text(dedent(text), encoding="utf-8")
        return own_python_first({"PYTHONPATH": str(tmp_path), "PATH": "/usr/bin:/bin"})

    return write


def missing(environment: dict[str, str], module: str = "ours.work") -> tuple[str, ...]:
    return missing_modules(["python3", "-m", module, "--option"], environment)


def test_a_module_whose_imports_are_all_there_lacks_nothing(package):
    assert missing(package(work="import json, os.path\nfrom collections import abc\nimport ours\n")) == ()


def test_a_package_that_is_not_there_is_named_once_by_its_first_name(package):
    environment = package(work="import nosuch.part as part\nfrom nosuch import thing\nimport another_one\n")
    assert missing(environment) == ("another_one", "nosuch")


@pytest.mark.parametrize(
    "line", ["from ours import helper", "import ours.helper", "from ours.helper import value", "from . import helper",
             "from .helper import value"],
)  # fmt: skip
def test_what_our_own_modules_import_counts_as_theirs(package, line):
    assert missing(package(work=f"{line}\n", helper="import nosuch\nvalue = 1\n")) == ("nosuch",)


def test_modules_that_import_each_other_come_to_an_end(package):
    assert missing(package(work="import ours.helper\n", helper="import ours.work\nimport nosuch\n")) == (
        "nosuch",
    )


@pytest.mark.parametrize(
    "text",
    [
        "try:\n    import nosuch\nexcept ImportError:\n    nosuch = None\n",
        "def later():\n    import nosuch\n",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import nosuch\n",
    ],
)
def test_an_import_that_may_have_a_substitute_is_left_to_the_launch(package, text):
    assert missing(package(work=text)) == ()


def test_nothing_of_the_implementation_is_executed(package, tmp_path):
    mark = tmp_path / "executed"
    assert missing(package(work=f"open({str(mark)!r}, 'w')\nimport nosuch\n")) == ("nosuch",)
    assert not mark.exists()


def test_the_module_itself_may_be_what_is_missing(package):
    environment = package()
    assert missing(environment, "ours.work") == ("ours.work",)
    assert missing(environment, "nosuch.work") == ("nosuch.work",)


@pytest.mark.parametrize("text", ["def broken(:\n", "\0", "import = 3\n"])
def test_sources_that_cannot_be_read_are_left_to_the_launch(package, text):
    assert missing(package(work=text)) == ()


@pytest.mark.parametrize(
    "command", [["torchforge", "gae"], ["python3", "-c", "import nosuch"], ["python3"], ["python3", "-m"], []]
)
def test_a_command_of_another_form_lacks_nothing_that_can_be_told(command):
    assert missing_modules(command, {}) == ()


def test_an_interpreter_that_fails_or_hangs_is_left_to_the_launch(tmp_path, monkeypatch):
    for name, body in (("python3.98", "exit 3"), ("python3.99", "exec sleep 60")):
        program = tmp_path / name
        program.write_text(f"#!/bin/sh\n{body}\n", encoding="utf-8")
        program.chmod(0o755)
    monkeypatch.setattr(modules, "_SECONDS", 0.2)
    for name in ("python3.98", "python3.99", "python3.97"):
        assert missing_modules([name, "-m", "x"], {"PATH": f"{tmp_path}:/usr/bin:/bin"}) == ()


def implementation(*command: str) -> Implementation:
    return Implementation(
        name="x",
        command=command,
        reference=False,
        image=CORE,
        platforms=(),
        determinism=Determinism.NONE,
        without={},
    )


def test_the_reason_names_the_program_or_the_modules(tmp_path):
    executor = LocalExecutor(tmp_path)
    assert executor.left_out(implementation("no-such-program"), HERE) == 'no program "no-such-program" here'
    assert executor.left_out(implementation("python3", "-m", "no_such_module"), HERE) == (
        "python3 has no module no_such_module"
    )
    assert executor.left_out(implementation("python3", "-m", "json.tool"), HERE) is None


def test_inside_an_image_nothing_is_asked_for(tmp_path):
    baked = {"target": "core", "identity": "0", "execution_hash": "0"}
    (tmp_path / "image.json").write_text(json.dumps(baked), encoding="utf-8")
    executor = LocalExecutor(tmp_path)
    assert executor.left_out(implementation("python3", "-m", "no_such_module"), HERE) is None


def test_on_a_host_python3_is_the_one_that_runs_forge_bench():
    assert own_python_first({"PATH": "/usr/bin"})["PATH"] == f"{Path(sys.executable).parent}:/usr/bin"
    assert own_python_first({})["PATH"] == str(Path(sys.executable).parent)


def test_what_cannot_be_compared_is_left_out_with_its_reference_and_the_reason_of_that(
    write_matrix, tmp_path, capsys
):
    data = small_matrix(other=program(DOUBLER))
    data["benchmarks"]["double"]["implementations"]["plain"]["command"] = ["python3", "-m", "no_such_module"]
    code = main(["--profile", "smoke", "--matrix", str(write_matrix(data)), "--results", str(tmp_path / "r"),
                 "--executor", "local"])  # fmt: skip
    said = capsys.readouterr().err
    assert code == 0
    assert "left out: double/plain on" in said
    assert "python3 has no module no_such_module" in said
    assert "its reference plain is left out: python3 has no module no_such_module" in said
    assert Store(tmp_path / "r").records() == []


def test_doctor_names_what_the_host_cannot_run_and_why(write_matrix, tmp_path, capsys):
    data = small_matrix(other=["no-such-program"])
    code = main(["doctor", "--json", "--matrix", str(write_matrix(data)), "--results", str(tmp_path / "r"),
                 "--executor", "local"])  # fmt: skip
    findings = json.loads(capsys.readouterr().out)["findings"]
    (found,) = [each for each in findings if each["check"] == "implementations"]
    assert code == 0
    assert found["state"] == "warning"
    assert found["why"] == 'double/other: no program "no-such-program" here'
    assert not (tmp_path / "r").exists(), "looking leaves nothing behind"
