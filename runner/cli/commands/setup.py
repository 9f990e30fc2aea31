"""``forge-bench setup``: find what the host lacks and install it."""

from runner.cli.commands.base import Command, Context
from runner.system.errors import HostNotReady


def _run(context: Context) -> int:
    if context.inside_image:
        raise HostNotReady(
            what="setup prepares a host, and this is an image",
            why="the image already holds all that it needs",
            fix="run make setup in a checkout on the host",
        )
    context.require_host(fix=True)
    return 0


COMMAND = Command(
    name="setup",
    summary="find what the host lacks and install it, or print the commands",
    takes=("--arch", "--matrix", "--executor"),
    examples=("setup", "setup --arch amd64"),
    run=_run,
)
