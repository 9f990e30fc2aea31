"""Which common options a command takes, and what becomes of those that it would ignore."""

import shlex
from pathlib import Path

import pytest
from conftest import small_matrix

from runner.cli.command_table import COMMANDS
from runner.cli.main import main
from runner.cli.words.name_check import check_names
from runner.cli.words.options import EVERY_COMMON, Options, parse
from runner.matrix import load_matrix
from runner.system.errors import UsageError

MATRIX = load_matrix(Path(__file__).parents[3] / "matrix.yaml")
VALUES = {
    "--arch": "arm64",
    "--platform": "amd64",
    "--only": "gae",
    "--profile": "quick",
    "--seeds": "1",
    "--limits": "default",
    "--toolchain": "trixie",
    "--matrix": "m.yaml",
    "--executor": "local",
    "--results": "r",
}
NEEDED = {
    "compare": ["--benchmark", "gae", "--base", "numpy", "--against", "rust"],
    "verify": ["results"],
    "completion": ["bash"],
    "show": ["2026-11-21-quick#2026"],
    "publish": ["2026-12-01-quick"],
    "bundle": ["2026-11-26-gae-dqn"],
}


def parsed(*arguments: str) -> Options:
    found = parse(arguments, COMMANDS)
    assert isinstance(found, Options)
    return found


@pytest.mark.parametrize("option", EVERY_COMMON)
@pytest.mark.parametrize("name", COMMANDS)
def test_a_common_option_is_honoured_and_in_the_help_or_refused_and_not_in_it(name: str, option: str) -> None:
    command = COMMANDS[name]
    words = [name, *NEEDED.get(name, ()), option, *([VALUES[option]] if option in VALUES else [])]
    help_text = str(parse([name, "--help"], COMMANDS))
    assert (f" {option}" in help_text or f"[{option}" in help_text) is (option in command.takes)
    if option in command.takes:
        assert parsed(*words).command == name
        return
    with pytest.raises(UsageError) as refused:
        parse(words, COMMANDS)
    assert refused.value.what == f"{name} takes no {option}"
    assert f"forge-bench {name} --help" in refused.value.fix


@pytest.mark.parametrize("name", COMMANDS)
def test_the_help_of_a_command_has_an_example_that_the_command_takes(name: str) -> None:
    examples = COMMANDS[name].examples
    assert examples
    for example in examples:
        assert f"  forge-bench {example}\n" in str(parse([name, "--help"], COMMANDS))
        options = parsed(*shlex.split(example))
        assert options.command == name
        check_names(options, MATRIX)


def test_clean_removes_nothing_where_it_is_told_of_a_part(tmp_path, capsys) -> None:
    record = tmp_path / "records" / "gae" / "20260101T000000Z-0000000000000000.json"
    record.parent.mkdir(parents=True)
    record.write_text("{}")
    words = ["clean", "results", "--records", "--only", "gae", "--arch", "arm64", "--yes"]
    assert main([*words, "--results", str(tmp_path)]) == UsageError.exit_code
    assert "clean takes no --arch, --only" in capsys.readouterr().err
    assert record.exists()


@pytest.fixture
def without_quick(write_matrix) -> str:
    """A matrix whose profiles have other names."""
    data = small_matrix()
    for profiles in (data["profiles"], data["benchmarks"]["double"]["profiles"]):
        profiles["short"] = profiles.pop("quick")
    return str(write_matrix(data))


@pytest.mark.parametrize("words", [["list"], ["completion", "bash"]])
def test_a_command_that_takes_no_profile_needs_none_of_any_name(words, without_quick, capsys) -> None:
    assert main([*words, "--matrix", without_quick]) == 0
    assert "short" in capsys.readouterr().out


def test_a_command_that_takes_a_profile_says_which_there_are(without_quick, capsys) -> None:
    assert main(["plan", "--executor", "local", "--matrix", without_quick]) == UsageError.exit_code
    assert "choose one of smoke, short" in capsys.readouterr().err


def test_without_a_word_about_it_the_profile_is_quick_and_everything_is_selected() -> None:
    found = parsed("plan")
    assert (found.profile, found.only, found.architectures, found.seeds, found.limits) == ("quick", *[()] * 4)
    assert not found.fresh
    assert not found.set_up


@pytest.mark.parametrize(
    ("only", "taken"),
    [
        ((), ("gae",)),
        (("gae/numpy",), ("gae/numpy",)),
        (("*/numpy", "g*/rust/T=128"), ("gae/numpy", "gae/rust/T=128")),
        (("gae",), ("gae",)),
    ],
)
def test_a_benchmark_by_name_is_narrowed_by_only(only: tuple[str, ...], taken: tuple[str, ...]) -> None:
    assert parsed("gae", *(word for each in only for word in ("--only", each))).only == taken


@pytest.mark.parametrize(("word", "meant"), [("dqn", ""), ("gea", '"gae"'), ("plna", '"plan"')])
def test_only_another_benchmark_than_the_one_that_is_named_is_refused(word: str, meant: str) -> None:
    with pytest.raises(UsageError) as refused:
        parse([word, "--only", "gae/numpy"], COMMANDS)
    assert f"{word} --only gae/numpy selects nothing" in refused.value.what
    assert meant in refused.value.what


def test_an_only_that_is_like_no_name_gets_a_short_answer(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", "--executor", "local", "--only", "zzz"]) == 2
    said = capsys.readouterr().err
    assert len(said) < 400
    assert (
        "--only zzz selects nothing; known: act, allocators, batch-latency, buffer-push, buffer-sample"
        in said
    )
    assert "see forge-bench list" in said


def test_an_only_that_is_nearly_a_name_gets_that_name(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", "--executor", "local", "--only", "update/pytorch-tund"]) == 2
    assert 'did you mean "update/pytorch-tuned"?' in capsys.readouterr().err


@pytest.mark.parametrize("words", [["plan", "--only", "ffi"], ["ffi", "--dry-run"]])
def test_a_benchmark_without_sizes_in_the_profile_is_refused_by_name(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*words, "--executor", "local", "--profile", "libraries"]) == 2
    assert "--only ffi selects nothing in the profile libraries" in capsys.readouterr().err
