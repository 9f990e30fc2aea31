"""``forge-bench [run | BENCHMARK]``: run the selected part of the matrix and render its tables."""

import argparse
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property

from runner.cli.commands import plan as plan_command
from runner.cli.commands import run_rules
from runner.cli.commands.base import Command, Context
from runner.cli.commands.notes import notes_on
from runner.cli.commands.show import show
from runner.cli.words.options import EVERY_COMMON
from runner.fleet.follow import Lost
from runner.fleet.run import adopt, run_on_fleet, split
from runner.planning.cells import Cell, Selection
from runner.planning.estimates import duration
from runner.planning.plan import content_keys
from runner.planning.planned import Decision, Plan
from runner.records.order import oldest_first
from runner.records.record import Record
from runner.records.store import newest_by_key
from runner.report.html import REPORT
from runner.running.run import Summary, run
from runner.system.errors import CellsFailed, HostAway, LaunchesLost
from runner.system.files import write_atomically


def _run(context: Context) -> int:
    if context.own.dry_run:
        return plan_command.COMMAND.run(context)
    context.require_host()
    store, progress = context.store, context.progress
    # Before the plan is made: what a killed call had submitted counts in it.
    adopt(store, progress.say, run_rules.undisturbed)
    plan, told = run_rules.ruled(context), _Told(context)
    for name, why in _left_out(plan):
        progress.say(f"left out: {name}: {why}")
    if plan.launches and not plan.records:
        # Later runs know their own times.
        expected = duration(60 * context.matrix.profiles[plan.profile].minutes)
        progress.say(f"first run here: the matrix says {expected} for all of {plan.profile}, images aside")
    # What is refused before this leaves no folder behind.
    with store.in_use():
        summary, lost = _launched(context, plan, told)
    reused = sum(each.decision is Decision.REUSE for each in plan.cells)
    progress.say(f"{len(summary.records)} cells run, {reused} reused, {len(summary.failed)} failed")
    records = told.of_today(summary.records)
    show(context, records, store.place("tables"), written=context.shown_architectures)
    folder = store.tables_directory / context.options.profile
    progress.say(f"tables: {folder}; in one file: {folder / REPORT}")
    if summary.records:
        told.answer(list(newest_by_key(records).values()))
    away = {**plan.away, **summary.away}
    if summary.failed:
        kinds = {
            f"{each.implementation}: {each.failure.kind}"
            for each in summary.failed
            if each.failure is not None
        }
        raise CellsFailed(
            what=f"{len(summary.failed)} of {len(summary.records)} cells failed",
            why="; ".join(sorted(kinds)),
            fix=f"read the tables and the logs under {store.root / 'logs'}; a failed cell is run again at the next call",
        )
    if lost:
        raise LaunchesLost(
            what=f"{len(lost)} launches gave no record: {', '.join(each.name for each in lost)}",
            why=lost[0].why,
            fix="the others are stored; run again for these",
        )
    if away:
        raise HostAway(
            what=f"the cells of {', '.join(away)} were not run: host away",
            why="; ".join(f"{name}: {why}" for name, why in away.items()),
            fix="see that the machine is on and reachable by ssh, or that Slurm answers (sinfo), then run again: "
            "finished cells are stored",
        )
    return 0


def _launched(context: Context, plan: Plan, told: "_Told") -> tuple[Summary, list[Lost]]:
    """Run all launches, here and on fleets; what they gave, and which gave no record."""
    store, progress = context.store, context.progress
    here, fleets = split(plan)
    occasion, accept = run_rules.occasion(context), run_rules.accept(context)
    summary = run(
        here,
        context.executor,
        store,
        progress,
        occasion=occasion,
        when_whole=told.room,
        accept=accept,
        more=run_rules.more(context, here),
        apart=context.apart,
    )
    lost: list[Lost] = []
    for part in fleets:
        of_fleet = run_on_fleet(
            part,
            context.executor,
            store,
            matrix=context.matrix_path,
            occasion=occasion,
            say=progress.say,
            accept=accept,
            more=run_rules.more(context, part),
            strict=context.own.strict,
        )
        summary = replace(summary, records=[*summary.records, *of_fleet.records])
        lost += of_fleet.lost
    return summary, lost


class _Told:
    """What a run tells while it goes on and at its end: of the records of today's matrix, machine and images."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def of_today(self, made: Sequence[Record]) -> list[Record]:
        """The stored records and those that were made since, oldest first."""
        records = oldest_first([*self._context.plan.records, *made])
        keys = self._keys | {record.key for record in made}
        return [record for record in records if record.key in keys]

    def room(self, cell: Cell, made: Sequence[Record]) -> None:
        """Write the page of a benchmark as soon as it is whole on a platform, and say what it answers."""
        if cell.judges:
            return
        # As at the end of a run: the tables' libraries are slow to import.
        from runner.report.tables.pages import pages_of_benchmark  # noqa: PLC0415

        context, name = self._context, cell.benchmark.name
        records, profile = self.of_today(made), context.options.profile
        newest = list(newest_by_key(records).values())
        folder = context.store.place("tables") / profile
        published = context.published_from(folder)
        notes = notes_on(context, [each for each in newest if each.benchmark == name])
        for page in pages_of_benchmark(
            context.matrix, newest, name, profile=profile, published=published, notes=notes
        ):
            write_atomically(folder / page.file, page.text)
        context.progress.say(f"{name} on {cell.place}: {folder / name}.md")
        if not context.plan.executions[cell.platform.name].emulated:
            self.answer(newest, benchmark=name)

    def answer(self, newest: Sequence[Record], benchmark: str | None = None) -> None:
        """Say what the newest record of each cell answers."""
        from runner.report.tables.pages import render_verdict  # noqa: PLC0415 (as above)

        context = self._context
        profile = context.options.profile
        context.progress.say(render_verdict(context.matrix, newest, profile=profile, benchmark=benchmark))

    @cached_property
    def _keys(self) -> frozenset[str]:
        context, plan = self._context, self._context.plan
        # A benchmark that ran on request once is shown from then on.
        everything = Selection(
            profile=plan.profile,
            architectures=context.shown_architectures,
            only=("*",),
            limits=tuple(context.matrix.limits),
            toolchains=tuple(context.matrix.toolchains),
        )
        # Processes beyond the profile's count too: a rule or a user added them once.
        parts = (replace(everything, only=(name,), seeds=seeds) for name, seeds in self._added().items())
        return plan.keys().union(
            *(
                content_keys(context.matrix, part, context.executor, plan.execution_hashes)
                for part in (everything, *parts)
            )
        )

    def _added(self) -> dict[str, tuple[int, ...]]:
        """By benchmark, the seeds of stored records that the profile has not."""
        matrix, plan = self._context.matrix, self._context.plan
        usual = matrix.profiles[plan.profile].seeds
        found: dict[str, set[int]] = {}
        for record in plan.records:
            of_today = record.profile == plan.profile and record.benchmark in matrix.benchmarks
            if of_today and record.seed not in usual.of(emulated=record.execution.emulated):
                found.setdefault(record.benchmark, set()).add(record.seed)
        return {name: tuple(sorted(seeds)) for name, seeds in found.items()}


def _left_out(plan: Plan) -> list[tuple[str, str]]:
    """The implementations, or single cases, that do not run here, each once."""
    found = {}
    for each in plan.cells:
        if each.decision is Decision.LEAVE_OUT:
            implementation, case = each.cell.implementation, each.cell.case.name
            name = f"{each.cell.benchmark.name}/{implementation.name}"
            if each.why == implementation.without.get(case):
                name += f" {case}"
            found[f"{name} on {each.cell.place}"] = each.why
    return list(found.items())


def _add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--dry-run", action="store_true", help="the same as the command plan")
    run_rules.add_options(parser)
    plan_command.add_options(parser, "with --dry-run: ")


COMMAND = Command(
    name="run",
    summary="run the selected part of the matrix and render its tables (the default)",
    takes=EVERY_COMMON,
    add_options=_add_options,
    examples=(
        "gae",
        "--arch amd64 --only dqn/rust --only gae",
        "--profile full --only sac",
        "--profile full --strict",
        "gae --target-precision 2% --budget 30",
    ),
    run=_run,
)
