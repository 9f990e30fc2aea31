"""What an image says where it is called without a word."""

from documents.shell import runner_arguments, simple_commands

from runner.cli.command_table import COMMANDS
from runner.cli.commands.base import Context
from runner.cli.main import main
from runner.cli.words.introduction import INTRODUCTION
from runner.cli.words.options import parse


def test_an_image_that_is_called_without_a_word_explains_itself_and_runs_nothing(monkeypatch, capsys):
    monkeypatch.setattr(Context, "inside_image", True)
    assert main([]) == 0
    assert capsys.readouterr().out == INTRODUCTION


def test_the_explanation_fits_on_a_screen():
    lines = INTRODUCTION.splitlines()
    assert len(lines) <= 25
    assert max(map(len, lines)) <= 80


def test_each_command_of_the_explanation_is_one():
    commands = [
        line.strip().partition("  ")[0] for line in INTRODUCTION.splitlines() if line.startswith("    ")
    ]
    assert commands
    for line in commands:
        (words,) = simple_commands(line)
        arguments = runner_arguments(words)
        assert arguments is not None, line
        parse(arguments, COMMANDS)


def test_with_a_word_an_image_does_what_it_is_told(monkeypatch, capsys):
    monkeypatch.setattr(Context, "inside_image", True)
    assert main(["list"]) == 0
    assert "gae" in capsys.readouterr().out
