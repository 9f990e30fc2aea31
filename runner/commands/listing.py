"""``forge-bench list``: benchmarks, cases, implementations and profiles."""

from runner.commands.base import Command, Context


def _run(context: Context) -> int:
    for benchmark in context.matrix.benchmarks.values():
        print(f"{benchmark.name}: {benchmark.title}")
        print(f"  cases: {', '.join(benchmark.cases)}")
        print(f"  implementations: {', '.join(benchmark.implementations)}")
    print(f"profiles: {', '.join(context.matrix.profiles)}")
    return 0


COMMAND = Command(name="list", summary="list benchmarks, cases and implementations", run=_run)
