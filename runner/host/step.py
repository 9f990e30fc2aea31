"""The steps of setup, as data: files to write and commands to run. Printed, each step is a line for a shell."""

import shlex
from dataclasses import dataclass
from pathlib import Path

from runner.system.root import SUDO


@dataclass(frozen=True)
class WriteFile:
    """A small file with this content."""

    path: Path
    content: str

    def __str__(self) -> str:
        return f"printf %s {shlex.quote(self.content)} | {SUDO}tee {shlex.quote(str(self.path))} >/dev/null"


@dataclass(frozen=True)
class RunCommand:
    """A command with these arguments."""

    arguments: tuple[str, ...]

    def __str__(self) -> str:
        return SUDO + shlex.join(self.arguments)


Step = WriteFile | RunCommand
