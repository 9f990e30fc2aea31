"""What each command asks of a host before it begins. The daemon is invented, and nothing is looked at or installed."""

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from runner.cli.command_table import COMMANDS
from runner.cli.commands.base import Context
from runner.cli.main import main
from runner.cli.words.options import Options, parse
from runner.host import setup
from runner.system import machine
from runner.system.errors import HostNotReady, UsageError


def asked_of_the_host(monkeypatch: pytest.MonkeyPatch, *words: str) -> tuple[str, ...]:
    """The architectures that a command wants this host to be ready for."""
    asked: list[str] = []

    def not_ready(architectures: Sequence[str], *_: Any, **__: Any) -> None:
        asked.extend(architectures)
        raise HostNotReady(what="", why="", fix="")

    monkeypatch.setattr(setup, "set_up", not_ready)
    options = parse(words, COMMANDS)
    assert isinstance(options, Options)
    context = Context(options, COMMANDS)
    context.executor = SimpleNamespace(name="docker")  # type: ignore[assignment]  # all that is asked of it
    with pytest.raises(HostNotReady):
        COMMANDS[options.command].run(context)
    return tuple(asked)


@pytest.mark.parametrize("words", [["build"], ["build", "--arch", "arm64"], ["lock"], ["lock", "--check"]])
def test_what_only_builds_needs_no_emulation(monkeypatch, words):
    assert asked_of_the_host(monkeypatch, *words) == (machine.architecture(),)


@pytest.mark.parametrize("words", [["run"], ["setup"]])
def test_what_starts_containers_needs_every_architecture(monkeypatch, words):
    assert asked_of_the_host(monkeypatch, *words) == ("amd64", "arm64")


def test_images_are_not_built_by_the_executor_that_has_none(capsys):
    assert main(["build", "--executor", "local"]) == UsageError.exit_code
    said = capsys.readouterr()
    assert said.out == ""
    assert "without --executor local" in said.err
