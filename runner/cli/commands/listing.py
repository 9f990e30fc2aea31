"""``forge-bench list``: benchmarks, cases, implementations and profiles."""

import sys

from runner.cli.commands.base import Command, Context
from runner.system.terminal import width_of, wrap


def _run(context: Context) -> int:
    width = width_of(sys.stdout)
    for benchmark in context.matrix.benchmarks.values():
        asked = ", on request" if benchmark.on_request else ""
        print(wrap(f"{benchmark.name}: {benchmark.title}{asked}", width))
        print(wrap(f"  cases: {', '.join(benchmark.cases)}", width))
        print(wrap(f"  implementations: {', '.join(benchmark.implementations)}", width))
    print(wrap(f"profiles: {', '.join(context.matrix.profiles)}", width))
    return 0


COMMAND = Command(
    name="list",
    summary="list benchmarks, cases and implementations",
    takes=("--matrix",),
    examples=("list",),
    run=_run,
)
