"""``forge-bench compare``: two implementations, or then and now, each ratio with its interval."""

import argparse

from runner.cli.commands.base import Command, Context
from runner.cli.words.syntax import percent
from runner.figures import comparison
from runner.matrix.faults import did_you_mean
from runner.records.record import Record
from runner.system.errors import Regressed, UsageError

_OF_IMPLEMENTATIONS = ("benchmark", "base", "against")
_MARGIN = 0.05


def _run(context: Context) -> int:
    own = context.own
    if own.places:
        return _then_and_now(context)
    missing = [f"--{name}" for name in _OF_IMPLEMENTATIONS if getattr(own, name) is None]
    if missing or own.margin is not None:
        raise UsageError(
            what=f"compare needs {', '.join(missing)}" if missing else "--margin needs OLD and NEW",
            why="it compares two implementations, or two sets of records",
            fix="compare --benchmark gae --base numpy --against rust, or compare OLD NEW",
        )
    matrix = context.matrix
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


def _then_and_now(context: Context) -> int:
    """The regression check.

    Raises:
        Regressed: a cell is slower, or fails now.
    """
    own = context.own
    others = context.results_are_named or any(getattr(own, each) for each in _OF_IMPLEMENTATIONS)
    if len(own.places) != len(("OLD", "NEW")) or others:
        raise UsageError(
            what="compare OLD NEW takes two places, and no --results, --benchmark, --base or --against",
            why="it compares every cell of two publications or results directories with itself",
            fix="name both: compare OLD NEW",
        )
    # Imported here: comparing two implementations needs none of it.
    from runner.verify.regression import as_json, as_text, changes, lost  # noqa: PLC0415

    old, new = (_asked_for(context, place) for place in own.places)
    margin = _MARGIN if own.margin is None else own.margin
    found = changes(old, new, margin=margin, metric=own.metric)
    print(as_json(found) if own.format == "json" else as_text(found, margin=margin))
    if gone := lost(old, new):
        context.progress.say(f"{gone} native cells of {own.places[0]} are not in {own.places[1]}")
    worse = [each for each in found if each.regressed]
    if worse:
        first = worse[0]
        raise Regressed(
            what=f"{len(worse)} of {len(found)} cells got worse",
            why=f"{first.benchmark} {first.case} {first.implementation}: {first.change.value}",
            fix="read the lines above; measure both again on a quiet machine before blaming a change",
        )
    return 0


def _asked_for(context: Context, place: str) -> list[Record]:
    """The records of a place of the case and the architectures that were named.

    Raises:
        UsageError: the place has records, and none of these.
    """
    case, architectures = context.own.case, context.architectures
    records = context.source_at(place).records()
    found = [
        record
        for record in records
        if case in (None, record.case) and (not architectures or record.image.architecture in architectures)
    ]
    if records and not found:
        cases = sorted({record.case for record in records})
        known = sorted({record.image.architecture for record in records})
        raise UsageError(
            what=f"{place} has no record of what --case and --arch name",
            why=f"its cases are {', '.join(cases)}, on {', '.join(known)}",
            fix="name one of these, or leave --case and --arch away",
        )
    return found


def _add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "places",
        nargs="*",
        metavar="OLD NEW",
        help="two publications or results directories of one machine: is a cell slower now than then?",
    )
    parser.add_argument("--benchmark", help="whose times are compared")
    parser.add_argument("--base", help="the implementation that counts as 1")
    parser.add_argument("--against", help="the implementation whose speed is stated")
    parser.add_argument("--case", help="one case instead of all")
    parser.add_argument("--metric", help="another metric than the benchmark's headline")
    parser.add_argument(
        "--margin", type=percent, metavar="5%", help="with OLD NEW: a change up to this counts as none (5%%)"
    )
    parser.add_argument("--format", choices=["text", "json"], default="text", help="text (default), or JSON")


COMMAND = Command(
    name="compare",
    summary="how many times faster one implementation is than another, or each cell of NEW than of OLD",
    takes=("--arch", "--matrix", "--results"),
    add_options=_add_options,
    examples=(
        "compare --benchmark gae --base numpy --against rust --case T=2048",
        "compare 2026-11-26-gae-dqn results/local --margin 3%",
    ),
    run=_run,
)
