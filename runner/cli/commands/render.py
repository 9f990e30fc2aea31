"""``forge-bench render``: the tables again, from the records.

From all of them: a folder may hold those of several machines, images and commits, and today's own are not asked for.
So nothing is asked of a daemon, and pages are of all platforms, wherever they are rendered.
"""

from runner.cli.commands.base import Command, Context
from runner.cli.commands.show import show


def _run(context: Context) -> int:
    records = context.store.records()
    context.warn_of_future(records)
    show(context, records)
    return 0


COMMAND = Command(
    name="render",
    summary="render the tables again from the records",
    takes=("--arch", "--only", "--profile", "--matrix", "--results"),
    run=_run,
)
