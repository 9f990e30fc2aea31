"""``forge-bench publish``: a publication out of whole plans of this commit, or every reason against it."""

import argparse

from runner.cli.commands.base import Command, Context
from runner.cli.words.syntax import a_path
from runner.publishing.check import standing_of
from runner.publishing.publish import Request, publish
from runner.publishing.row import add_row, row_of


def _run(context: Context) -> int:
    own, published = context.own, context.published
    publication, origin = publish(
        Request(
            name=own.name,
            machine=own.machine,
            what=own.what,
            with_warnings=own.with_warnings,
            key=own.sign,
        ),
        store=context.stored,
        matrix_path=context.matrix_path,
        root=context.root,
        published=published,
    )
    for line in standing_of(publication, context.allowed_signers):
        context.progress.say(line)
    row = row_of(publication, origin)
    if not add_row(published / "README.md", row):
        context.progress.say(f"{published} has no README.md with a table of folders: add this row to one")
    print(row)
    return 0


def _add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", metavar="NAME", help="of the publication: YEAR-MONTH-DAY-WHAT")
    parser.add_argument(
        "--machine", default="", metavar="NAME", help="the machine's name in the table of machines"
    )
    parser.add_argument("--what", default="", metavar="TEXT", help="what was run, for its row")
    parser.add_argument(
        "--with-warnings",
        action="store_true",
        help="take records of a loaded machine; every page and the row then say so",
    )
    parser.add_argument("--sign", type=a_path, metavar="KEYFILE", help="sign it with this key of OpenSSH")


COMMAND = Command(
    name="publish",
    summary="make a publication out of whole plans of this commit, or say all that speaks against it",
    takes=("--matrix", "--results"),
    add_options=_add_options,
    examples=("publish 2026-11-26-gae-dqn",),
    run=_run,
)
