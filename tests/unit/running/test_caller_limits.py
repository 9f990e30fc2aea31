"""What the caller of the runner limits (ulimit) is the host's: said in three lines, and no failure of anybody's."""

import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from conftest import DOUBLER, program, small_matrix

from runner.records.store import Store
from runner.system.errors import HostLimited

MIB = 2**20
TAKES_MEMORY = "x = bytearray(1100 * 2**20)\n" + DOUBLER
WRITES_MORE = DOUBLER + (
    "\nfor case, _ in pairs:\n    (arguments.output / case / 'more').write_bytes(bytes(2**20))\n"
)
LEAVES_OUT = "\nimport os\nos._exit(0)\n"
ROOT = Path(__file__).parents[3]


def call(directory: Path, *arguments: str, **limits: int) -> "subprocess.CompletedProcess[str]":
    """The command line in a process of its own, with these limits, hard ones as ulimit sets them."""

    def limit() -> None:
        for name, value in limits.items():
            resource.setrlimit(getattr(resource, f"RLIMIT_{name}"), (value, value))

    return subprocess.run(
        [sys.executable, "-m", "runner", *arguments],
        cwd=ROOT,
        preexec_fn=limit,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def is_the_callers(result: "subprocess.CompletedProcess[str]") -> None:
    assert result.returncode == HostLimited.exit_code, result.stderr
    assert "Traceback" not in result.stderr
    said = result.stderr[result.stderr.index("forge-bench: ") :].splitlines()
    assert said[1].startswith("  why: ")
    assert said[2].startswith("  to do: raise that limit")


@pytest.fixture(scope="module")
def stored(tmp_path_factory) -> Path:
    """A folder with a matrix and what a run of it stored."""
    directory = tmp_path_factory.mktemp("stored")
    (directory / "matrix.yaml").write_text(yaml.safe_dump(small_matrix(), sort_keys=False))
    ran = call(directory, "run", *here(directory), "--executor", "local")
    assert ran.returncode == 0, ran.stderr
    return directory


def here(directory: Path) -> list[str]:
    return ["--matrix", str(directory / "matrix.yaml"), "--results", str(directory / "results")]


COMMANDS: dict[str, Callable[[Path], list[str]]] = {
    "list": lambda at: ["list", *here(at)[:2]],
    "plan": lambda at: ["plan", *here(at), "--executor", "local"],
    "render": lambda at: ["render", *here(at), "--output", str(at / "tables")],
    "verify": lambda at: ["verify", str(at / "results"), "--executor", "local"],
    "run": lambda at: ["run", *here(at), "--executor", "local", "--fresh"],
    "parquet": lambda at: ["export", *here(at)[2:], "--format", "parquet", "--output", str(at / "x")],
}


@pytest.mark.parametrize("mib", [20, 35, 150])
@pytest.mark.parametrize("command", COMMANDS)
def test_a_limit_of_memory_ends_a_command_in_three_lines_or_not_at_all(stored, command, mib):
    result = call(stored, *COMMANDS[command](stored), AS=mib * MIB)
    if result.returncode == 0:
        assert command in ("list", "plan")
    else:
        is_the_callers(result)


@pytest.mark.parametrize("command", ["render", "run", "parquet"])
@pytest.mark.parametrize("count", [0, 1024])
def test_a_limit_of_a_files_size_ends_a_command_in_three_lines_and_what_is_stored_stays(
    stored, command, count
):
    before = {path: path.read_bytes() for path in stored.rglob("*") if path.is_file()}
    is_the_callers(call(stored, *COMMANDS[command](stored), FSIZE=count))
    after = {path: path.read_bytes() for path in stored.rglob("*") if path.is_file()}
    assert before.items() <= after.items()
    # Nothing that is half written bears a name.
    assert Store(stored / "results").records()


@pytest.mark.parametrize(
    ("body", "limits"),
    [
        (TAKES_MEMORY, {"AS": 1000 * MIB}),
        (TAKES_MEMORY, {"DATA": 1000 * MIB}),
        (WRITES_MORE, {"FSIZE": 256 * 1024}),
        (LEAVES_OUT, {"FSIZE": 256 * 1024}),
    ],
)
def test_a_launch_that_fails_under_the_callers_limit_is_no_failure_of_the_implementation(
    tmp_path, body, limits
):
    matrix = small_matrix(other=program(body))
    (tmp_path / "matrix.yaml").write_text(yaml.safe_dump(matrix, sort_keys=False))
    result = call(tmp_path, "run", *here(tmp_path), "--executor", "local", **limits)
    is_the_callers(result)
    records = Store(tmp_path / "results").records()
    # What was finished before is stored, and nothing of what failed.
    assert {each.implementation for each in records} == {"plain"}
    assert not any(each.failed for each in records)


def test_the_same_failure_without_such_a_limit_is_the_implementations_own(tmp_path):
    matrix = small_matrix(other=program(LEAVES_OUT))
    (tmp_path / "matrix.yaml").write_text(yaml.safe_dump(matrix, sort_keys=False))
    result = call(tmp_path, "run", *here(tmp_path), "--executor", "local")
    assert result.returncode == 3
    failures = {each.failure.kind for each in Store(tmp_path / "results").records() if each.failure}
    assert failures == {"missing-measurement"}
