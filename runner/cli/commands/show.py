"""What a run and a rendering end in: every table of the profile written, and those that were asked for printed."""

import dataclasses
import sys
from collections.abc import Sequence

from runner.cli.commands.base import Context
from runner.matrix import Matrix
from runner.records.record import Record
from runner.records.store import newest_by_key
from runner.report.tables.narrow import narrow
from runner.report.tables.write import write_tables
from runner.system.terminal import width_of


def show(context: Context, records: Sequence[Record], *, written: Sequence[str] = ()) -> None:
    """Write all tables of the profile, and print on stdout those that were asked for.

    Args:
        context: of the call.
        records: those that the tables are of, oldest first.
        written: the architectures that the written tables are limited to; none for all.
    """
    options, matrix, store = context.options, context.matrix, context.store
    asked = context.architectures or written
    # A cell that was run again counts as it was then, not as an older one beside it.
    records = list(newest_by_key(records).values())
    directory = store.place("tables", options.profile)
    write_tables(_of_architectures(matrix, written), records, directory, profile=options.profile)
    selected = _of_architectures(matrix, asked)
    # Imported here, and only where a page of the profile does not do: reading it takes longer than reading pages.
    if options.only:
        from runner.report.tables.pages import render_benchmark  # noqa: PLC0415

        for benchmark in matrix.benchmarks.values():
            if context.selection.takes_some_of(matrix, benchmark):
                _print(render_benchmark(selected, records, benchmark.name, profile=options.profile))
    elif asked == written:
        _print((directory / "overview.md").read_text(encoding="utf-8"))
    else:
        from runner.report.tables.pages import render_overview  # noqa: PLC0415

        _print(render_overview(selected, records, profile=options.profile))
    context.progress.say(f"tables: {directory}")


def _print(page: str) -> None:
    print(narrow(page, width_of(sys.stdout)), end="")


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
