"""The entry point: from the words of the command line to a run, and from any failure to three lines and a code."""

import dataclasses
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from runner import comparison, machine
from runner.cells import Selection
from runner.errors import CellsFailed, ForgeBenchError, HostNotReady, Interrupted, UsageError
from runner.executors.base import Executor
from runner.executors.local import LocalExecutor
from runner.matrix import Matrix, load_matrix
from runner.matrix.faults import did_you_mean
from runner.options import Options, no_such_benchmark, parse
from runner.plan import Decision, Plan, content_keys, make_plan
from runner.progress import Progress
from runner.record import Record
from runner.results import store_inside_image, store_of_checkout
from runner.run import run
from runner.signals import stop_on_terminate
from runner.store import Store, newest_by_key
from runner.tables import render_benchmark, render_overview, write_tables

ROOT = Path(__file__).resolve().parent.parent


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit code. Results go to stdout, everything else to stderr."""
    stop_on_terminate()
    try:
        options = parse(sys.argv[1:] if arguments is None else arguments)
        if isinstance(options, str):
            print(options, end="")
            return 0
        return _dispatch(options)
    except ForgeBenchError as error:
        print(f"forge-bench: {error}", file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        print(
            "\nforge-bench: interrupted; every finished cell is stored, call again to go on", file=sys.stderr
        )
        return Interrupted.exit_code
    except BrokenPipeError:
        # The reader of our stdout has gone (head, less): not an error of ours.
        sys.stderr.close()
        return 0


def _dispatch(options: Options) -> int:
    progress = Progress()
    matrix = load_matrix(options.matrix or ROOT / "matrix.yaml")
    _check_names(options, matrix)
    if options.command == "list":
        print(_listing(matrix))
        return 0
    if options.command == "setup":
        return _set_up(options, matrix, progress, fix=True)
    local = LocalExecutor(ROOT)
    store = _store(options, local, progress)
    if options.command == "compare":
        return _compare(options, matrix, store)
    executor: Executor = local if _is_local(options, local) else _docker(options, matrix, store, progress)
    if executor is local and not options.architectures:
        # A process runs on what the host is; other architectures are not left out one by one.
        options = dataclasses.replace(options, architectures=(machine.architecture(),))
    plan = make_plan(matrix, _selection(options), executor, store, fresh=options.fresh)
    match options.command:
        case "plan":
            print(_plan_json(plan) if options.json else _plan_text(plan))
        case "build":
            for target, cell in plan.images():
                image = executor.prepare(target, cell.toolchain, cell.platform, progress.say)
                print(f"{target} {image.architecture} {image.config_digest}")
        case "render":
            _render(options, matrix, plan, executor, store, progress)
        case _:
            return _run(options, matrix, plan, executor, store, progress)
    return 0


def _run(
    options: Options, matrix: Matrix, plan: Plan, executor: Executor, store: Store, progress: Progress
) -> int:
    for name, why in _left_out(plan):
        progress.say(f"left out: {name}: {why}")
    summary = run(plan, executor, store, progress)
    reused = sum(each.decision is Decision.REUSE for each in plan.cells)
    progress.say(f"{summary.ran} cells run, {reused} reused, {len(summary.failed)} failed")
    _render(options, matrix, plan, executor, store, progress)
    if summary.failed:
        raise CellsFailed(
            what=f"{len(summary.failed)} of {summary.ran} cells failed",
            why="; ".join(
                sorted(
                    {
                        f"{record.implementation}: {record.data['failure']['kind']}"
                        for record in summary.failed
                    }
                )
            ),
            fix=f"read the tables and the logs under {store.root / 'logs'}; a failed cell is run again at the next call",
        )
    return 0


def _render(
    options: Options, matrix: Matrix, plan: Plan, executor: Executor, store: Store, progress: Progress
) -> None:
    """Write all tables of the profile, and print those that were asked for."""
    # A process runs on what the host is: other architectures have no place in its tables.
    here = options.architectures if executor.name == "local" else ()
    whole = content_keys(matrix, Selection(profile=options.profile, architectures=here), executor)
    records = _current(store, plan.keys() | whole)
    directory = store.tables_directory / options.profile
    write_tables(_of_architectures(matrix, here), records, directory, profile=options.profile)
    selected = _of_architectures(matrix, options.architectures)
    if options.only:
        for benchmark in dict.fromkeys(each.cell.benchmark.name for each in plan.cells):
            print(render_benchmark(selected, records, benchmark, profile=options.profile), end="")
    elif options.architectures == here:
        print((directory / "overview.md").read_text(encoding="utf-8"), end="")
    else:
        print(render_overview(selected, records, profile=options.profile), end="")
    progress.say(f"tables: {directory}")


def _compare(options: Options, matrix: Matrix, store: Store) -> int:
    wanted = options.comparison
    if wanted is None:
        raise ValueError("compare without its options")
    benchmark = matrix.benchmarks.get(wanted.benchmark)
    if benchmark is None:
        raise UsageError(
            what=f'no benchmark "{wanted.benchmark}"{did_you_mean(wanted.benchmark, matrix.benchmarks)}',
            why="the matrix does not have it",
            fix="see forge-bench list",
        )
    results = comparison.compare(
        list(newest_by_key(store.records()).values()),
        benchmark=benchmark.name,
        base=wanted.base,
        against=wanted.against,
        case=wanted.case,
        architecture=options.architectures[0] if options.architectures else None,
        metric=wanted.metric or benchmark.headline,
    )
    print(comparison.as_json(results) if options.json else comparison.as_text(results))
    return 0


def _is_local(options: Options, local: LocalExecutor) -> bool:
    if options.executor is not None:
        return options.executor == "local"
    return local.inside_image


def _docker(options: Options, matrix: Matrix, store: Store, progress: Progress) -> Executor:
    # Imported here: inside an image there is neither a daemon to speak to nor its library.
    from runner.executors.docker import DockerExecutor  # noqa: PLC0415

    executor = DockerExecutor(ROOT, store.root / "logs")
    if options.command in ("run", "build"):
        _set_up(options, matrix, progress, fix=options.set_up)
    return executor


def _set_up(options: Options, matrix: Matrix, progress: Progress, *, fix: bool) -> int:
    if LocalExecutor(ROOT).inside_image:
        raise HostNotReady(
            what="setup prepares a host, and this is an image",
            why="the image already holds all that it needs",
            fix="run make setup in a checkout on the host",
        )
    from runner.host.setup import set_up  # noqa: PLC0415 (a host's business: not part of what an image runs)

    wanted = options.architectures or tuple(
        dict.fromkeys(platform.architecture for platform in matrix.platforms.values())
    )
    for toolchain in matrix.toolchains.values():
        set_up(wanted, toolchain, say=progress.say, fix=fix)
    return 0


def _store(options: Options, local: LocalExecutor, progress: Progress) -> Store:
    if options.results is not None:
        return Store(options.results.resolve())
    if local.inside_image:
        return store_inside_image(progress.say)
    return store_of_checkout(ROOT)


def _selection(options: Options) -> Selection:
    return Selection(
        profile=options.profile,
        architectures=options.architectures,
        only=options.only,
        seeds=options.seeds,
    )


def _check_names(options: Options, matrix: Matrix) -> None:
    """Names on the command line against the matrix, before anything is started."""
    known = sorted(matrix.benchmarks)
    if options.benchmark is not None and options.benchmark not in matrix.benchmarks:
        raise no_such_benchmark(options.benchmark, known)
    if options.profile not in matrix.profiles:
        raise UsageError(
            what=f'no profile "{options.profile}"{did_you_mean(options.profile, matrix.profiles)}',
            why="the matrix does not have it",
            fix=f"choose one of {', '.join(matrix.profiles)}",
        )
    for pattern in options.only:
        selection = Selection(profile=options.profile, only=(pattern,))
        names = {
            f"{benchmark.name}/{implementation}"
            for benchmark in matrix.benchmarks.values()
            for implementation in benchmark.implementations
        }
        if not any(selection.takes(*name.split("/")) for name in names):
            hint = did_you_mean(pattern, [*known, *names])
            raise UsageError(
                what=f"--only {pattern} selects nothing{hint}",
                why="no benchmark and implementation of the matrix has such a name",
                fix="see forge-bench list",
            )


def _of_architectures(matrix: Matrix, architectures: Sequence[str]) -> Matrix:
    """The matrix with only these architectures' platforms; all of it where none is named."""
    if not architectures:
        return matrix
    platforms = {
        name: platform
        for name, platform in matrix.platforms.items()
        if platform.architecture in architectures
    }
    return dataclasses.replace(matrix, platforms=platforms)


def _current(store: Store, keys: frozenset[str]) -> list[Record]:
    """The newest record of each of these content keys; of every cell where the store knows none of them.

    The second is for records from elsewhere: another machine's keys are never those of this one.
    """
    newest = newest_by_key(store.records())
    current = [record for key, record in newest.items() if key in keys]
    if current:
        return current
    return list(
        {json.dumps(record.data["cell"], sort_keys=True): record for record in newest.values()}.values()
    )


def _left_out(plan: Plan) -> list[tuple[str, str]]:
    """What does not run here, each thing once: an implementation, or one case of it."""
    found = {}
    for each in plan.cells:
        if each.decision is Decision.LEAVE_OUT:
            implementation, case = each.cell.implementation, each.cell.case.name
            name = f"{each.cell.benchmark.name}/{implementation.name}"
            if each.why == implementation.without.get(case):
                name += f" {case}"
            found[f"{name} on {each.cell.platform.name}"] = each.why
    return list(found.items())


def _plan_text(plan: Plan) -> str:
    lines = [f"{each.decision.value:<9} {each.cell}: {each.why}" for each in plan.cells]
    counts = {decision: sum(each.decision is decision for each in plan.cells) for decision in Decision}
    total = ", ".join(f"{count} {decision.value}" for decision, count in counts.items())
    return "\n".join([*lines, f"{total}; {len(plan.launches)} launches"])


def _plan_json(plan: Plan) -> str:
    return json.dumps(
        {
            "profile": plan.profile,
            "launches": len(plan.launches),
            "cells": [
                {
                    **each.cell.names(),
                    "parameters": dict(each.cell.parameters),
                    "execution": plan.executions[each.cell.platform.name].kind.value,
                    "key": each.key,
                    "decision": each.decision.value,
                    "why": each.why,
                }
                for each in plan.cells
            ],
        },
        indent=1,
    )


def _listing(matrix: Matrix) -> str:
    lines = []
    for benchmark in matrix.benchmarks.values():
        lines += [
            f"{benchmark.name}: {benchmark.title}",
            f"  cases: {', '.join(benchmark.cases)}",
            f"  implementations: {', '.join(benchmark.implementations)}",
        ]
    return "\n".join([*lines, f"profiles: {', '.join(matrix.profiles)}"])
