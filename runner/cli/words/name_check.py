"""Check the names on the command line against the matrix, before anything is started."""

from collections.abc import Sequence

from runner.cli.words.options import Options
from runner.matrix import Matrix
from runner.matrix.faults import did_you_mean
from runner.planning.cells import Selection
from runner.system.errors import UsageError


def check_names(options: Options, matrix: Matrix) -> None:
    """Check that the benchmark, profile, platforms, toolchains, every ``--only`` and every ``--limits`` select something.

    Raises:
        UsageError: one selects nothing; the message suggests the nearest name.
    """
    known = sorted(matrix.benchmarks)
    if options.benchmark is not None and options.benchmark not in matrix.benchmarks:
        raise _no_such_word(options.benchmark, options.commands, known)
    # An option that the command does not take has a general default, which the matrix need not have.
    if "--profile" in options.takes and options.profile not in matrix.profiles:
        raise UsageError(
            what=f'no profile "{options.profile}"{did_you_mean(options.profile, matrix.profiles)}',
            why="the matrix does not have it",
            fix=f"choose one of {', '.join(matrix.profiles)}",
        )
    names = [
        (benchmark.name, implementation, case)
        for benchmark in matrix.benchmarks.values()
        for implementation in benchmark.implementations
        for case in benchmark.cases
    ]
    for pattern in options.only:
        selection = Selection(profile=options.profile, only=(pattern,))
        if not any(selection.takes(*name) for name in names):
            # Only names with as many parts: all together would be more than are compared.
            alike = {"/".join(name[: pattern.count("/") + 1]) for name in names}
            raise UsageError(
                what=f"--only {pattern} selects nothing{did_you_mean(pattern, alike, listed=known)}",
                why="no benchmark, implementation and case of the matrix have such names",
                fix="see forge-bench list",
            )
        selected = [each for each in matrix.benchmarks.values() if selection.takes_some_of(matrix, each)]
        if "--profile" in options.takes and not any(options.profile in each.sizes for each in selected):
            raise UsageError(
                what=f"--only {pattern} selects nothing in the profile {options.profile}",
                why=f"that profile has no sizes for {', '.join(each.name for each in selected)}",
                fix=f"choose another of {', '.join(matrix.profiles)} with --profile",
            )
    _check_platforms(options, matrix)
    _check_limits(options, matrix)
    for name in options.toolchains:
        if name not in matrix.toolchains:
            raise UsageError(
                what=f'no toolchain "{name}"{did_you_mean(name, matrix.toolchains)}',
                why="the matrix does not have it",
                fix=f"choose of {', '.join(matrix.toolchains)}",
            )


def _check_platforms(options: Options, matrix: Matrix) -> None:
    """Check that the named platforms exist, and that one of them has a selected architecture."""
    for name in options.platforms:
        found = matrix.platforms.get(name)
        if found is None:
            raise UsageError(
                what=f'no platform "{name}"{did_you_mean(name, matrix.platforms)}',
                why="the matrix does not have it",
                fix=f"choose one of {', '.join(matrix.platforms)}",
            )
        if options.architectures and found.architecture not in options.architectures:
            raise UsageError(
                what=f"--platform {name} with --arch {', '.join(options.architectures)} selects nothing",
                why=f"{name} is {found.architecture}",
                fix="leave --arch out: a platform has one architecture",
            )


def _check_limits(options: Options, matrix: Matrix) -> None:
    """Check that a selected benchmark has the named limits."""
    only = Selection(profile=options.profile, only=options.only)
    known = [
        limits.name
        for benchmark in matrix.benchmarks.values()
        for limits in matrix.limits_of(benchmark)
        if only.takes_some_of(matrix, benchmark)
    ]
    for limits in options.limits:
        if limits not in known:
            raise UsageError(
                what=f"--limits {limits} selects nothing{did_you_mean(limits, known)}",
                why="no selected benchmark of the matrix has such limits",
                fix=f"choose of {', '.join(dict.fromkeys(known))}",
            )


def _no_such_word(word: str, commands: Sequence[str], benchmarks: Sequence[str]) -> UsageError:
    return UsageError(
        what=f'no command or benchmark "{word}"{did_you_mean(word, [*commands, *benchmarks])}',
        why=f"commands are {', '.join(commands)}; benchmarks are {', '.join(benchmarks)}",
        fix="see forge-bench --help and forge-bench list",
    )
