"""Completion as the shells themselves do it: each is asked what it would offer."""

import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from pseudo_terminal import ROOT, Terminal

from runner.cli.command_table import COMMANDS

SHELLS = ("bash", "zsh", "fish")


@pytest.fixture(scope="module")
def scripts(tmp_path_factory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("completion")
    found = {}
    for shell in SHELLS:
        result = subprocess.run(
            [sys.executable, "-m", "runner", "completion", shell],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=True,
        )
        assert result.stderr == ""
        found[shell] = folder / shell / "_forge-bench"
        found[shell].parent.mkdir()
        found[shell].write_text(result.stdout)
    return found


def needs(shell: str) -> str:
    program = shutil.which(shell)
    if program is None:
        pytest.skip(f"needs {shell}")
    return program


def asked_of_bash(script: Path, line: str, where: Path) -> list[str]:
    """What bash puts into COMPREPLY for this line; a blank at its end asks for the next word."""
    words = shlex.split(line) + ([""] if line.endswith(" ") else [])
    program = f"""
        source {shlex.quote(str(script))}
        function=$(complete -p forge-bench | sed -E 's/.*-F ([^ ]+) .*/\\1/')
        COMP_WORDS=({shlex.join(words)}); COMP_CWORD={len(words) - 1}
        COMP_LINE={shlex.quote(line)}; COMP_POINT={len(line)}
        "$function" forge-bench {shlex.quote(words[-1])} {shlex.quote(words[-2])}
        printf '%s\\n' "${{COMPREPLY[@]}}"
    """
    result = subprocess.run(
        ["bash", "--norc", "-c", program], cwd=where, capture_output=True, text=True, check=True
    )
    assert result.stderr == ""
    return [word.strip() for word in result.stdout.split("\n") if word.strip()]


def asked_of_fish(script: Path, line: str, where: Path) -> list[str]:
    program = f"source {shlex.quote(str(script))}; complete -C {shlex.quote(line)}"
    result = subprocess.run(
        [needs("fish"), "--no-config", "-c", program], cwd=where, capture_output=True, text=True, check=True
    )
    return [each.partition("\t")[0] for each in result.stdout.splitlines()]


ASK = {"bash": asked_of_bash, "fish": asked_of_fish}


@pytest.fixture(params=sorted(ASK))
def ask(request, scripts, tmp_path):
    (tmp_path / "some.yaml").write_text("")
    (tmp_path / "folder").mkdir()
    return lambda line: ASK[request.param](scripts[request.param], line, tmp_path)


def test_the_program_is_known_to_bash(scripts):
    result = subprocess.run(
        [
            "bash",
            "--norc",
            "-c",
            f"source <(cat {shlex.quote(str(scripts['bash']))}); complete -p forge-bench",
        ],
        capture_output=True,
        text=True,
        check=True,
    )
    assert result.stdout.rstrip().endswith("forge-bench")


def test_commands_and_benchmarks_are_offered(ask):
    assert set(COMMANDS) | {"gae", "dqn"} <= set(ask("forge-bench "))
    assert ask("forge-bench exp") == ["export"]
    assert ask("forge-bench grp") == ["grpo"]


def test_the_options_of_a_command_are_offered_and_those_of_others_are_not(ask):
    assert "--repetitions" in ask("forge-bench export --")
    assert "--repetitions" not in ask("forge-bench plan --")
    assert "--dry-run" in ask("forge-bench gae --")
    assert ask("forge-bench plan --prof") == ["--profile"]


@pytest.mark.parametrize(
    ("line", "values"),
    [
        ("forge-bench export --format ", {"csv", "parquet"}),
        ("forge-bench --arch ", {"amd64", "arm64"}),
        ("forge-bench plan --executor ", {"docker", "local"}),
        ("forge-bench --profile ", {"smoke", "quick", "libraries", "full"}),
        ("forge-bench completion ", set(SHELLS)),
        ("forge-bench plan --only gae/nump", {"gae/numpy", "gae/numpy-tuned"}),
    ],
)
def test_values_are_offered(ask, line, values):
    assert set(ask(line)) == values


def test_files_and_folders_are_offered_where_they_are_meant(ask):
    assert "some.yaml" in ask("forge-bench plan --matrix so")
    assert [each.rstrip("/") for each in ask("forge-bench plan --results fo")] == ["folder"]
    assert ask("forge-bench plan --results so") == []


def test_zsh_completes_a_command_an_option_and_a_value(scripts, tmp_path):
    terminal = Terminal(
        [needs("zsh"), "-f", "-i"], columns=100, environment={"HOME": str(tmp_path), "PS1": "ready> "}
    )
    try:
        terminal.read_until("ready> ")
        folder = shlex.quote(str(scripts["zsh"].parent))
        terminal.type(f"unsetopt LIST_BEEP; fpath=({folder} $fpath); autoload -U compinit; compinit -u -D\n")
        terminal.read_until("ready> ")
        for typed, completed in (
            ("forge-bench comple\t", "forge-bench completion "),
            ("forge-bench export --rep\t", "--repetitions "),
            ("forge-bench plan --executor loc\t", "local "),
            ("forge-bench grp\t", "forge-bench grpo "),
        ):
            terminal.type(typed)
            terminal.read_until(completed)
            # Ctrl-U: the next line starts empty.
            terminal.type("\x15")
    finally:
        terminal.close()


def test_a_faulty_matrix_costs_its_names_and_nothing_else(tmp_path):
    (tmp_path / "matrix.yaml").write_text("version: 2\n")
    result = subprocess.run(
        [sys.executable, "-m", "runner", "completion", "bash", "--matrix", str(tmp_path / "matrix.yaml")],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    script = tmp_path / "script"
    script.write_text(result.stdout)
    assert "left out" in result.stderr
    assert set(asked_of_bash(script, "forge-bench ", tmp_path)) == set(COMMANDS)


def test_help_says_what_cannot_be_completed():
    result = subprocess.run(
        [sys.executable, "-m", "runner", "completion", "--help"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert "python -m runner cannot be completed" in " ".join(result.stdout.split())


def test_an_unknown_shell_is_a_mistake_of_the_command_line():
    result = subprocess.run(
        [sys.executable, "-m", "runner", "completion", "tcsh"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 2
    assert "to do:" in result.stderr
