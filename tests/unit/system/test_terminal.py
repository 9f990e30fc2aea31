"""Terminal manners: what is written fits, nothing to be copied is broken, and colours are asked for or absent."""

import os
import re
import subprocess
import sys

import pytest
import yaml
from conftest import DOUBLER, program, small_matrix
from hypothesis import given
from hypothesis import strategies as st
from pseudo_terminal import ROOT, forge_bench

from runner.cli.command_table import COMMANDS
from runner.cli.main import main
from runner.cli.words.options import parse
from runner.system.terminal import red, shorten, wrap

ESCAPE = "\033"
words = st.lists(st.text("abcdefghij/.-:;", min_size=1, max_size=18), min_size=1, max_size=60)


@given(words, st.integers(30, 120), st.integers(0, 4))
def test_broken_lines_fit_and_lose_nothing(parts, width, indent):
    text = " " * indent + " ".join(parts)
    lines = wrap(text, width).split("\n")
    assert all(len(line) <= width for line in lines)
    assert " ".join(lines).split() == parts
    assert lines[0].startswith(" " * indent)
    assert all(line.startswith(" " * (indent + 2)) for line in lines[1:])


@given(words)
def test_without_a_terminal_nothing_is_broken(parts):
    text = " ".join(parts)
    assert wrap(text, None) == text


@pytest.mark.parametrize(
    "command",
    [
        "sudo usermod -aG docker $USER",
        "docker run --user $(id -u):$(id -g) -v DIR:/results forge-bench",
        "forge-bench --matrix my.yaml --executor local",
        "sudo apt-get install docker.io",
        "python -m runner --only gae/numpy",
    ],
)
@pytest.mark.parametrize("width", [20, 40, 60, 80])
def test_a_command_within_a_sentence_stays_in_one_line(command, width):
    text = (
        f"  to do: see first whether the daemon runs; if it does: {command}, then log in again and run again"
    )
    broken = wrap(text, width)
    assert any(command in line for line in broken.split("\n"))
    assert all(len(line) <= max(width, len(command) + 5) for line in broken.split("\n"))


def test_a_line_that_is_a_command_is_left_as_it_is():
    line = "    printf %s 'Types: deb, URIs: http://deb.debian.org, Suites: trixie' | sudo tee /etc/apt/x >/dev/null"
    assert wrap(f"run these commands:\n{line}", 40) == f"run these commands:\n{line}"


@given(st.text("abc ", max_size=40), st.integers(0, 50))
def test_a_shortened_text_fits(text, width):
    short = shorten(text, width)
    assert len(short) <= width
    assert short == text or short.endswith(".."[: max(0, width)])


@pytest.mark.parametrize("name", ["", *COMMANDS])
def test_every_help_text_fits_80_columns(name, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    shown = parse([*name.split(), "--help"], COMMANDS)
    assert isinstance(shown, str)
    assert [line for line in shown.splitlines() if len(line) > 80] == []
    assert "options:" in shown


def test_help_fits_a_narrower_terminal():
    code, shown = forge_bench("--help", columns=60)
    assert code == 0
    assert [line for line in shown.splitlines() if len(line) > 60] == []


MISTAKES = [
    (80, ["no-such-benchmark-at-all-but-a-long-word"]),
    (50, ["--profile", "quik"]),
    (80, ["--matrix", "/nowhere/at/all/matrix.yaml"]),
    (50, ["--only", "gae/pytorchh"]),
    (40, ["export", "--format", "parquet"]),
    (80, ["compare", "--benchmark", "gae"]),
]


@pytest.mark.parametrize(("columns", "arguments"), MISTAKES)
def test_errors_are_broken_at_the_terminals_width_and_keep_their_three_parts(columns, arguments):
    code, shown = forge_bench(*arguments, columns=columns)
    assert code == 2
    too_long = [line for line in shown.splitlines() if len(line) > columns]
    # A word without blanks, such as a path, is not broken.
    assert [line for line in too_long if " " in line.strip()] == []
    assert re.search(r"^forge-bench: .*^  why: .*^  to do: ", shown, re.MULTILINE | re.DOTALL)
    assert ESCAPE not in shown


def test_an_error_in_a_file_is_three_lines_however_long():
    result = subprocess.run(
        [sys.executable, "-m", "runner", "no-such-benchmark-at-all", "--executor", "local"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        env={"PATH": "/usr/bin:/bin", "COLUMNS": "40"},
    )
    assert len(result.stderr.splitlines()) == 3


@pytest.mark.parametrize("command", [["plan"], ["plan", "--all"], ["list"]])
def test_the_plan_and_the_list_fit_80_columns(write_matrix, tmp_path, command):
    data = small_matrix(**{f"one_of_several_implementations_{n}": program(DOUBLER) for n in range(4)})
    data["benchmarks"]["double"]["implementations"]["one-of-several-implementations-1"]["without"] = {
        "n=4": "it needs more memory than any machine has had so far and then another long while of it"
    }
    where = ["--matrix", str(write_matrix(data))]
    if command[0] == "plan":
        where += ["--results", str(tmp_path / "r"), "--executor", "local"]
    code, shown = forge_bench(*command, *where, columns=80)
    assert code == 0
    assert len(shown.splitlines()) > 3
    assert [line for line in shown.splitlines() if len(line) > 80] == []


# How wide the terminal is, and what its environment says of it.
SCREENS = {
    "usual": (80, {}),
    "narrow, without colour": (40, {"NO_COLOR": "1"}),
    "dumb": (80, {"TERM": "dumb"}),
}


@pytest.fixture(scope="module")
def screens(tmp_path_factory) -> dict[str, str]:
    """What each of `SCREENS` shows of a run with a good and a failing implementation that say how far they are."""
    folder = tmp_path_factory.mktemp("screens")
    slow = DOUBLER.replace(
        "    x = np.load",
        '    print(json.dumps({"event": "progress", "done": 1, "total": 2, "unit": "x"}), flush=True)\n'
        "    x = np.load",
    )
    data = small_matrix(slow=program(slow), failing=program("sys.exit('it went wrong')"))
    (folder / "matrix.yaml").write_text(yaml.safe_dump(data, sort_keys=False))
    found = {}
    for number, (name, (columns, environment)) in enumerate(SCREENS.items()):
        code, shown = forge_bench(
            *("--profile", "smoke", "--matrix", str(folder / "matrix.yaml")),
            *("--results", str(folder / str(number)), "--executor", "local"),
            columns=columns,
            environment=environment,
        )
        assert code == 3, shown
        # What follows is the page of the results: a document, which has the width that it has.
        found[name] = shown.partition("# Overview")[0]
    return found


def lines_on_screen(shown: str) -> list[str]:
    """What is written between two returns to the first column, colours left out."""
    return re.split(r"[\r\n]+", re.sub(r"\033\[\d*m", "", shown))


def progress_lines(shown: str) -> list[str]:
    return [line.rstrip() for line in lines_on_screen(shown) if re.search(r"\d %", line)]


@pytest.mark.parametrize("name", ["usual", "narrow, without colour"])
def test_the_progress_line_never_reaches_the_last_column(screens, name):
    columns, lines = SCREENS[name][0], progress_lines(screens[name])
    assert any("50 %" in line for line in lines), screens[name]
    assert all(line.startswith("[") and len(line) < columns for line in lines)
    too_long = [line for line in lines_on_screen(screens[name]) if len(line.rstrip()) > columns]
    assert [line for line in too_long if " " in line.strip()] == []


def test_a_failure_is_red_on_a_terminal_and_nothing_else_is_coloured(screens):
    assert re.findall(r"\033\[31m(.*?)\033\[0m", screens["usual"]) == ["FAILED: exit-code"]
    assert screens["usual"].count(ESCAPE) == 2


@pytest.mark.parametrize("name", ["narrow, without colour", "dumb"])
def test_there_is_no_colour_where_none_is_wanted(screens, name):
    assert "FAILED: exit-code" in " ".join(screens[name].split())
    assert ESCAPE not in screens[name]


def test_a_dumb_terminal_gets_plain_lines(screens):
    assert progress_lines(screens["dumb"]) == []
    assert "\r" not in screens["dumb"].replace("\r\n", "")


@pytest.mark.parametrize(("value", "coloured"), [("", True), ("1", False), ("0", False)])
def test_no_color_counts_where_it_is_not_empty(monkeypatch, value, coloured):
    monkeypatch.setenv("NO_COLOR", value)
    monkeypatch.setenv("TERM", "xterm")
    ours, theirs = os.openpty()
    with os.fdopen(ours), os.fdopen(theirs, "w") as stream:
        assert (ESCAPE in red("text", stream)) is coloured


def test_a_file_is_never_coloured(tmp_path):
    with (tmp_path / "file").open("w") as stream:
        assert red("text", stream) == "text"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["export", "--formt", "csv"], 'unrecognized arguments: --formt csv; did you mean "--format"?'),
        (["--profil", "smoke"], 'did you mean "--profile"?'),
        (["--seeds", "1,x"], "a seed is a whole number from 0 to 4294967295, not '1,x'"),
        (["--seeds", "-1"], "not '-1'"),
        (["--seeds", "1_0"], "not '1_0'"),
        (["--seeds", "4294967296"], "not '4294967296'"),
    ],
)
def test_what_is_wrong_with_a_command_line_is_said_once_and_plainly(arguments, said, capsys):
    assert main(arguments) == 2
    error = capsys.readouterr().err
    assert said in error
    assert error.count("forge-bench: ") == 1
