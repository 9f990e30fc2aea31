"""All pages of a set of records. The same records in any order give the same bytes."""

from collections.abc import Sequence
from dataclasses import dataclass

from runner.matrix import Benchmark, Kind, Matrix
from runner.records.record import Record
from runner.report.tables.markdown import render
from runner.report.tables.methodology import methodology_view
from runner.report.tables.operation import operation_view
from runner.report.tables.overview import overview_view
from runner.report.tables.same_returns import same_returns_table
from runner.report.tables.selection import Room, rooms
from runner.report.tables.training import training_view

OVERVIEW, METHODOLOGY = "overview", "methodology"


@dataclass(frozen=True, kw_only=True)
class Page:
    """One page: its name (the file is ``name.md``) and its Markdown."""

    name: str
    text: str


def render_pages(matrix: Matrix, records: Sequence[Record], *, profile: str) -> tuple[Page, ...]:
    """The overview, a page for each benchmark, and the methodology.

    Args:
        matrix: the requested cells; a cell without a record is shown as not run.
        records: the store's. Records with parameters of other profiles are not shown.
        profile: the profile that the pages are about.
    """
    benchmark_rooms = _found(matrix, records, profile)
    return (
        _overview(matrix, benchmark_rooms, profile),
        *(
            Page(
                name=each[0].benchmark.name,
                text=_benchmark(matrix, each[0].benchmark, each, records, profile),
            )
            for each in benchmark_rooms
        ),
        Page(
            name=METHODOLOGY,
            text=render("methodology.md.j2", view=methodology_view(matrix, benchmark_rooms, profile=profile)),
        ),
    )


def render_benchmark(matrix: Matrix, records: Sequence[Record], benchmark: str, *, profile: str) -> str:
    """The page of one benchmark alone."""
    own_rooms = rooms(matrix, records, benchmark, profile=profile)
    return _benchmark(matrix, matrix.benchmarks[benchmark], own_rooms, records, profile)


def render_overview(matrix: Matrix, records: Sequence[Record], *, profile: str) -> str:
    """The overview alone."""
    return _overview(matrix, _found(matrix, records, profile), profile).text


def _found(matrix: Matrix, records: Sequence[Record], profile: str) -> list[tuple[Room, ...]]:
    """The rooms of every benchmark. A benchmark that runs on request has rooms only where it was run."""
    every = [rooms(matrix, records, name, profile=profile) for name in matrix.benchmarks]
    return [each for each in every if not each[0].benchmark.on_request or any(room.records for room in each)]


def _overview(matrix: Matrix, benchmark_rooms: Sequence[Sequence[Room]], profile: str) -> Page:
    return Page(
        name=OVERVIEW,
        text=render("overview.md.j2", view=overview_view(matrix, benchmark_rooms, profile=profile)),
    )


def _benchmark(
    matrix: Matrix, benchmark: Benchmark, own_rooms: Sequence[Room], records: Sequence[Record], profile: str
) -> str:
    match benchmark.kind:
        case Kind.OPERATION:
            operation = operation_view(matrix, records, benchmark, own_rooms, profile=profile)
            return render("operation.md.j2", view=operation)
        case Kind.TRAINING:
            same_returns = same_returns_table(benchmark, records, matrix.profiles[profile])
            view = training_view(
                matrix, records, benchmark, own_rooms, profile=profile, same_returns=same_returns
            )
            return render("training.md.j2", view=view)
