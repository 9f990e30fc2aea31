"""``forge-bench build``: the images of the selected cells."""

from runner.cli.commands.base import Command, Context
from runner.cli.words.options import SELECTION
from runner.system.errors import UsageError


def _run(context: Context) -> int:
    if context.executor_name == "local":
        raise UsageError(
            what="build makes images, and the local executor has none",
            why="it starts processes on this machine, or in the image that it is called in",
            fix="on a host with Docker, call it without --executor local",
        )
    context.require_host(only_builds=True)
    for target, cell in context.plan.images():
        image = context.executor.prepare(target, cell.toolchain, cell.platform, context.progress.say)
        print(f"{target.name} {image.architecture} {image.config_digest}")
    return 0


COMMAND = Command(
    name="build",
    summary="build the images of the selected cells",
    takes=(*SELECTION, "--matrix", "--executor", "--results", "--set-up"),
    examples=("build", "build --arch amd64 --only edge"),
    run=_run,
)
