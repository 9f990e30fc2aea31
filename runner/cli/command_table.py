"""The commands: one module each, found by name only in this table.

A command's module is imported when the command is called, so no command waits for another's libraries.
"""

from collections.abc import Iterator, Mapping
from importlib import import_module

from runner.cli.commands.base import Command

_MODULES = {
    "run": "run",
    "plan": "plan",
    "build": "build",
    "render": "render",
    "report": "report",
    "compare": "compare",
    "verify": "verify",
    "show": "show_record",
    "export": "export",
    "publish": "publish",
    "bundle": "bundle",
    "list": "listing",
    "init": "init",
    "setup": "setup",
    "doctor": "doctor",
    "clean": "clean",
    "completion": "completion",
    "lock": "lock",
}


class _Table(Mapping[str, Command]):
    def __getitem__(self, name: str) -> Command:
        command: Command = import_module(f"runner.cli.commands.{_MODULES[name]}").COMMAND
        return command

    def __iter__(self) -> Iterator[str]:
        return iter(_MODULES)

    def __len__(self) -> int:
        return len(_MODULES)


COMMANDS: Mapping[str, Command] = _Table()
