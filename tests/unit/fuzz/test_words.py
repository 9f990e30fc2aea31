"""Any words on the command line are a call that can be made, a help text, or a usage error of three lines."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples import examples
from runner.cli.command_table import COMMANDS
from runner.cli.words.options import Options, parse
from runner.system.errors import ForgeBenchError

WORDS = st.sampled_from(
    [
        *COMMANDS, "gae", "-h", "--help", "--arch", "amd64", "--only", "*/*", "--profile", "quick", "--seeds", "1,2",
        "--matrix", "/dev/zero", "--results", "--executor", "local", "--json", "--", "-", "=", "--seeds=", "--seeds=-1",
        "--seeds=9" + "9" * 5000, "--arch=", "@/etc/passwd", "%s", "{0}", "\udcff", "--format", "csv", "--output",
    ]
) | st.text(max_size=8)  # fmt: skip


@examples(300)
@given(st.lists(WORDS, max_size=6))
def test_any_words_are_understood_or_refused(words: list[str]) -> None:
    try:
        found = parse(words, COMMANDS)
    except ForgeBenchError as error:
        message = str(error)
        message.encode()
        assert all(each.isprintable() or each == "\n" for each in message)
        return
    assert isinstance(found, Options | str)


@pytest.mark.parametrize("seeds", ["", "x", "1,,2", "-1", "4294967296", "1.0", "9" * 5000, "\u0661"])
def test_seeds_are_small_whole_numbers(seeds: str) -> None:
    try:
        found = parse(["run", f"--seeds={seeds}"], COMMANDS)
    except ForgeBenchError:
        return
    assert isinstance(found, Options)
    assert all(0 <= seed < 2**32 for seed in found.seeds)
