"""The end of a run and of a rendering: all tables of the profile are written, and the requested ones are printed."""

import dataclasses
import sys
from collections.abc import Sequence
from pathlib import Path

from runner.cli.commands.base import Context
from runner.cli.commands.notes import notes_on
from runner.matrix import Matrix
from runner.records.record import Record
from runner.records.store import link_on_the_way, newest_by_key
from runner.report.tables.folds import without_folds
from runner.report.tables.narrow import narrow
from runner.report.write import write_tables
from runner.system.terminal import width_of


def show(context: Context, records: Sequence[Record], tables: Path, *, written: Sequence[str] = ()) -> None:
    """Write all tables of the profile, and print the requested ones on stdout.

    Args:
        context: of the call.
        records: those that the tables are of, oldest first.
        tables: where the tables are written, a folder a profile.
        written: the architectures that the written tables are limited to; none for all.
    """
    options, matrix = context.options, context.matrix
    asked = context.architectures or written
    # A cell that was run again counts by its newest record.
    records = list(newest_by_key(records).values())
    directory = tables / options.profile
    if directory.is_symlink():
        raise link_on_the_way(directory)
    published = context.published_from(directory)
    write_tables(
        _of_architectures(matrix, written),
        records,
        directory,
        profile=options.profile,
        published=published,
        notes=notes_on(context, records),
    )
    selected = _of_architectures(matrix, asked)
    # The import stands here because it is slow, and only some calls need it.
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


def _print(page: str) -> None:
    """A terminal shows no plot and folds nothing."""
    page = "\n".join(line for line in without_folds(page).split("\n") if not line.startswith("!["))
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
