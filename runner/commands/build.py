"""``forge-bench build``: the images of the selected cells."""

from runner.commands.base import Command, Context
from runner.options import SELECTION


def _run(context: Context) -> int:
    context.require_host()
    for target, cell in context.plan.images():
        image = context.executor.prepare(target, cell.toolchain, cell.platform, context.progress.say)
        print(f"{target} {image.architecture} {image.config_digest}")
    return 0


COMMAND = Command(
    name="build",
    summary="build the images of the selected cells",
    takes=(*SELECTION, "--matrix", "--executor", "--results", "--set-up"),
    run=_run,
)
