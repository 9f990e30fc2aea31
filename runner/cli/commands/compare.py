"""``forge-bench compare``: how many times faster one implementation is than another, with its interval."""

import argparse

from runner.cli.commands.base import Command, Context
from runner.figures import comparison
from runner.matrix.faults import did_you_mean
from runner.system.errors import UsageError


def _run(context: Context) -> int:
    own, matrix = context.own, context.matrix
    benchmark = matrix.benchmarks.get(own.benchmark)
    if benchmark is None:
        raise UsageError(
            what=f'no benchmark "{own.benchmark}"{did_you_mean(own.benchmark, matrix.benchmarks)}',
            why="the matrix does not have it",
            fix="see forge-bench list",
        )
    comparisons = comparison.compare(
        context.records,
        benchmark=benchmark.name,
        base=own.base,
        against=own.against,
        case=own.case,
        architectures=context.architectures,
        metric=own.metric or benchmark.headline,
    )
    if own.format == "json":
        print(comparison.as_json(comparisons))
    else:
        first = {"toolchain": next(iter(matrix.toolchains)), "limits": matrix.limits_of(benchmark)[0].name}
        print(comparison.as_text(comparisons, **first))
    return 0


def _add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--benchmark", required=True, help="whose times are compared")
    parser.add_argument("--base", required=True, help="the implementation that counts as 1")
    parser.add_argument("--against", required=True, help="the implementation whose speed is stated")
    parser.add_argument("--case", help="one case instead of all")
    parser.add_argument("--metric", help="another metric than the benchmark's headline")
    parser.add_argument("--format", choices=["text", "json"], default="text", help="text (default), or JSON")


COMMAND = Command(
    name="compare",
    summary="how many times faster one implementation is than another, with its interval",
    takes=("--arch", "--matrix", "--results"),
    add_options=_add_options,
    examples=("compare --benchmark gae --base numpy --against rust --case T=2048",),
    run=_run,
)
