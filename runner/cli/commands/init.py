"""``forge-bench init``: a commented matrix to start from."""

import argparse
import os
import shlex
from pathlib import Path

from runner.cli.commands.base import Command, Context
from runner.cli.words.options import PROGRAM
from runner.cli.words.syntax import a_path
from runner.matrix.load import SCHEMA
from runner.system import machine
from runner.system.errors import UsageError
from runner.system.output_file import write_output
from runner.system.paths import resolved

STARTER = Path(__file__).parent.parent / "starter" / "matrix.yaml"


def _run(context: Context) -> int:
    path: Path = context.own.file
    if path.exists() and not context.own.force:
        raise UsageError(
            what=f"{path} is there already",
            why="init does not overwrite your file",
            fix=f"name another: {PROGRAM} init FILE, or replace it: {PROGRAM} init --force {shlex.quote(str(path))}",
        )
    write_output(path, starter(path, root=context.root).encode())
    given = f"{PROGRAM} --matrix {shlex.quote(str(path))}"
    for line in (
        f"wrote {path}; it runs as it is. What it would do:",
        f"    {given} plan",
        "then in images, or with the python3 and NumPy of this host:",
        f"    {given}",
        f"    {given} --executor local",
    ):
        context.progress.say(line)
    return 0


def starter(path: Path, *, root: Path) -> str:
    """The text of the starter for a file at ``path``.

    The file names the schema for editors. Within the checkout ``root`` it names a relative path, which stays valid
    when the checkout moves. Elsewhere it names the path of this installation.
    """
    folder = resolved(path).parent
    schema = os.path.relpath(SCHEMA, folder) if folder.is_relative_to(root) else SCHEMA.as_uri()
    text = STARTER.read_text(encoding="utf-8")
    return text.replace("@SCHEMA@", schema).replace("@ARCHITECTURE@", machine.architecture())


def _add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "file",
        nargs="?",
        type=a_path,
        default=Path("matrix.yaml"),
        metavar="FILE",
        help="default: matrix.yaml",
    )
    parser.add_argument("--force", action="store_true", help="replace a file that is there")


COMMAND = Command(
    name="init",
    summary="write a small matrix to start from, with every key explained",
    takes=(),
    add_options=_add_options,
    examples=("init mine.yaml",),
    run=_run,
)
