"""What a user asks of a run beside its cells: quiet machines (--strict), narrow intervals (--target-precision)."""

import argparse
from dataclasses import replace

from runner.cli.commands.base import Context
from runner.cli.words.syntax import minutes, percent
from runner.planning.planned import Plan
from runner.records.record import Record
from runner.running.launch import Accept
from runner.running.occasion import Occasion
from runner.running.run import More
from runner.system.errors import NotQuiet, UsageError

_BUDGET_MINUTES = 60.0


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options."""
    parser.add_argument(
        "--strict",
        action="store_true",
        help="refuse what pages only warn of: load, pressure, swap, throttling, steal, governor, turbo, SMT",
    )
    parser.add_argument(
        "--target-precision",
        type=percent,
        metavar="2%",
        help="start more processes until each 95%% interval is within this share of its figure, either side",
    )
    parser.add_argument(
        "--budget",
        type=minutes,
        metavar="MINUTES",
        help=f"with --target-precision: for at most this long after the plan ({_BUDGET_MINUTES:g})",
    )


def accept(context: Context) -> Accept:
    """What refuses a record of a disturbed launch, with --strict; pages say what disturbed the others.

    Raises:
        NotQuiet: pages would warn of this machine already.
    """
    if not context.own.strict:
        return lambda _: None
    # As at the end of a run: the tables' libraries are slow to import.
    from runner.report.tables.warnings import warnings_of_machine  # noqa: PLC0415

    platforms = {each.cell.platform.name: each.cell.platform for each in context.plan.cells}
    for name, platform in platforms.items():
        if marks := list(warnings_of_machine(context.executor.machine(platform))):
            raise NotQuiet(
                what=f"--strict: the machine of {name} is not fit to be measured on",
                why=" ".join(marks),
                fix="correct what is named (docs/your-machine.md says how), or leave --strict out",
            )

    return undisturbed


def undisturbed(record: Record) -> None:
    """See that pages would not warn of the launch of a record.

    Raises:
        NotQuiet: they would.
    """
    from runner.report.tables.warnings import warnings_of_records  # noqa: PLC0415 (as above)

    if marks := warnings_of_records([record]):
        raise NotQuiet(
            what="--strict: a launch was disturbed, and its records are not stored",
            why=f"{record.launch.id}: {' '.join(marks)}",
            fix="stop what runs beside it, and run again: cells of earlier launches are stored",
        )


def ruled(context: Context) -> Plan:
    """The plan, whose launches say whether a rule decides how many there are.

    Raises:
        UsageError: a budget is given without a rule.
    """
    target = context.own.target_precision
    if target is None:
        if context.own.budget is not None:
            raise UsageError(
                what="--budget needs --target-precision",
                why="it bounds the time of processes that are started to reach a precision",
                fix="add --target-precision 2%, or leave --budget out",
            )
        return context.plan
    ruled = (replace(launch, target_precision=target) for launch in context.plan.launches)
    return replace(context.plan, launches=tuple(ruled))


def more(context: Context, plan: Plan) -> More:
    """The rule by which the run goes on after its plan."""
    if context.own.target_precision is None:
        return lambda _: ()
    # Imported here: statistics are slow to import, and most runs need none before their end.
    from runner.figures.repeats import Repeats  # noqa: PLC0415

    return Repeats(
        plan=plan,
        executor=context.executor,
        target=context.own.target_precision,
        minutes=_BUDGET_MINUTES if context.own.budget is None else context.own.budget,
        say=context.progress.say,
    )


def occasion(context: Context) -> Occasion:
    """Why the run was started. Its ledger keeps the rules too."""
    own = context.own
    rules: dict[str, bool | str] = {}
    if own.strict:
        rules["strict"] = True
    if own.target_precision is not None:
        rules["target_precision"] = f"{own.target_precision:.3g}"
    return replace(context.occasion, options={**context.occasion.options, **rules})
