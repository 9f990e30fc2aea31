"""The package as a wheel holds it, outside of any checkout: it works, or says that it needs one."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml
from conftest import small_matrix

from runner.cli.command_table import COMMANDS
from runner.system.errors import PythonNotReady

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def installed(tmp_path_factory) -> Path:
    """A folder that holds what the wheel's table in pyproject.toml names, and nothing else of the checkout."""
    folder = tmp_path_factory.mktemp("site-packages")
    wheel = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]["targets"]["wheel"]
    assert wheel == {"packages": ["runner"]}
    tracked = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", *wheel["packages"]],
        cwd=ROOT, capture_output=True, text=True, check=True,
    ).stdout.split()  # fmt: skip
    for name in tracked:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes((ROOT / name).read_bytes())
    return folder


def call(folder: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-m", "runner", *arguments],
        cwd=folder, capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip


# Each as somebody would try it first.
WORDS = {"compare": ["--benchmark", "gae", "--base", "a", "--against", "b"], "verify": ["x"], "init": ["--help"],
         "completion": ["bash"], "show": ["--help"], "publish": ["x"], "bundle": ["x"]}  # fmt: skip
WITHOUT = {"init", "completion", "show"}


@pytest.mark.parametrize("command", sorted({"", *COMMANDS} - WITHOUT))
def test_what_needs_the_checkout_says_so_in_three_lines(installed, command):
    result = call(installed, *([command] if command else []), *WORDS.get(command, []))
    assert result.returncode == PythonNotReady.exit_code, result.stderr
    first, why, fix = result.stderr.splitlines()
    assert "without its checkout" in first
    assert str(installed) in why
    assert "git clone" in fix
    # Nothing lands beside the modules.
    assert not (installed / "results").exists()


@pytest.mark.parametrize("words", [["--help"], ["init", "--help"], ["show", "--help"]])
def test_what_needs_none_works(installed, words):
    assert call(installed, *words).returncode == 0


def test_a_matrix_that_is_named_is_listed_and_records_that_are_named_are_exported(installed, tmp_path):
    (tmp_path / "matrix.yaml").write_text(yaml.safe_dump(small_matrix(), sort_keys=False))
    listed = call(installed, "list", "--matrix", str(tmp_path / "matrix.yaml"))
    assert (listed.returncode, listed.stderr) == (0, "")
    assert "double: Doubling numbers" in listed.stdout
    (tmp_path / "results").mkdir()
    exported = call(installed, "export", "--results", str(tmp_path / "results"))
    assert exported.returncode == 0, exported.stderr


def test_no_advice_installs_a_package_that_nobody_has_published():
    """Neither the runner nor its Rust module is in an index: what bears their names there would be somebody else's."""
    advice = re.compile(
        r"(?:pip3?|pipx|uv)\s+(?:tool\s+|pip\s+)?(?:install|add|run)[^\n]*?[\s'\"](forge-bench|forge_bench|torchforge)\b(?!-\*|/)"
    )
    names = subprocess.run(
        ["git", "ls-files", "runner", "templates", "docs", "*.md", "Makefile", "examples", "baselines", "rust"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    ).stdout.split()  # fmt: skip
    texts = {name: (ROOT / name).read_text(encoding="utf-8", errors="replace") for name in names
             if (ROOT / name).suffix in ("", ".py", ".md", ".j2", ".toml", ".yaml")}  # fmt: skip
    assert {name: found.group() for name, text in texts.items() if (found := advice.search(text))} == {}
    assert advice.search("pip install 'forge-bench[host]'")
