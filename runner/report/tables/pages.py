"""All pages of a set of records. The same records in any order give the same bytes."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from runner.matrix import Kind, Matrix
from runner.records.record import Record
from runner.report.tables.head import Head, head_of
from runner.report.tables.markdown import render
from runner.report.tables.methodology import methodology_view
from runner.report.tables.notes import noted
from runner.report.tables.operation import operation_view
from runner.report.tables.overview import overview_view
from runner.report.tables.plots.curves import curves_plot
from runner.report.tables.plots.phases import phases_plot
from runner.report.tables.plots.room import room_plot
from runner.report.tables.plots.scaling import scaling_plot
from runner.report.tables.plots.shares import shares_plot
from runner.report.tables.profiling.view import PROFILING, profiling_view
from runner.report.tables.same_machine import updates_here
from runner.report.tables.same_returns import same_returns_of
from runner.report.tables.selection import Room, rooms
from runner.report.tables.summary.view import SUMMARY, summary_view
from runner.report.tables.training import training_view
from runner.report.tables.verdict import verdict_in_words

OVERVIEW, METHODOLOGY = "overview", "methodology"


@dataclass(frozen=True, kw_only=True)
class Page:
    """One page, or the plot beside it: its name, the ending of its file, and its text."""

    name: str
    text: str
    ending: str = "md"

    @property
    def file(self) -> str:
        """The file's name."""
        return f"{self.name}.{self.ending}"

    def noted(self, notes: Sequence[str]) -> "Page":
        """The same with the notes below its title; a plot has none."""
        return replace(self, text=noted(self.text, notes)) if self.ending == "md" else self


def render_pages(
    matrix: Matrix,
    records: Sequence[Record],
    *,
    profile: str,
    published: str | None = None,
    notes: Sequence[str] = (),
) -> tuple[Page, ...]:
    """The overview, the summary, a page for each benchmark with its plots, and the methodology.

    Args:
        matrix: the requested cells; a cell without a record is shown as not run.
        records: the store's. Records with parameters of other profiles are not shown.
        profile: the profile that the pages are about.
        published: the way from a page to the folder of all publications; None where there is none.
        notes: what stands below the title of each page.
    """
    benchmark_rooms = _found(matrix, records, profile)
    pages = (
        _overview(matrix, benchmark_rooms, profile),
        *_summary(matrix, benchmark_rooms, profile),
        *(page for each in benchmark_rooms for page in _pages(matrix, each, records, profile, published)),
        *_profiling(matrix, benchmark_rooms, profile),
        Page(
            name=METHODOLOGY,
            text=render("methodology.md.j2", view=methodology_view(matrix, benchmark_rooms, profile=profile)),
        ),
    )
    return tuple(page.noted(notes) for page in pages)


def render_benchmark(
    matrix: Matrix, records: Sequence[Record], benchmark: str, *, profile: str, published: str | None = None
) -> str:
    """The page of one benchmark alone; arguments as of `render_pages`."""
    page, *_ = pages_of_benchmark(matrix, records, benchmark, profile=profile, published=published)
    return page.text


def pages_of_benchmark(
    matrix: Matrix,
    records: Sequence[Record],
    benchmark: str,
    *,
    profile: str,
    published: str | None = None,
    notes: Sequence[str] = (),
) -> tuple[Page, ...]:
    """The page of one benchmark alone, and the plots that it has; arguments as of `render_pages`."""
    own_rooms = rooms(matrix, records, benchmark, profile=profile)
    return tuple(page.noted(notes) for page in _pages(matrix, own_rooms, records, profile, published))


def pages_of_profiling(matrix: Matrix, records: Sequence[Record], *, profile: str) -> tuple[Page, ...]:
    """The profiling report and its plots; none where no run was instrumented. Arguments as of `render_pages`."""
    benchmark_rooms = _found(matrix, records, profile)
    page = _profiling(matrix, benchmark_rooms, profile)
    plots = {each[0].benchmark.name: shares_plot(each) for each in benchmark_rooms} if page else {}
    return (
        *page,
        *(
            Page(name=f"{name}-shares", text=text, ending="svg")
            for name, text in plots.items()
            if text is not None
        ),
    )


def render_overview(matrix: Matrix, records: Sequence[Record], *, profile: str) -> str:
    """The overview alone."""
    return _overview(matrix, _found(matrix, records, profile), profile).text


def render_verdict(
    matrix: Matrix, records: Sequence[Record], *, profile: str, benchmark: str | None = None
) -> str:
    """The answer in words: of one benchmark, or of all."""
    names = matrix.benchmarks if benchmark is None else [benchmark]
    return verdict_in_words(
        [room for name in names for room in rooms(matrix, records, name, profile=profile)]
    )


def _found(matrix: Matrix, records: Sequence[Record], profile: str) -> list[tuple[Room, ...]]:
    """The rooms of every benchmark that was run; where none was, of those that the profile runs by itself."""
    every = [rooms(matrix, records, name, profile=profile) for name in matrix.benchmarks]
    run = [each for each in every if any(room.records for room in each)]
    runs = matrix.profiles[profile].runs
    return run or [
        each for each in every if each and runs(each[0].benchmark.name) and not each[0].benchmark.on_request
    ]


def _summary(matrix: Matrix, benchmark_rooms: Sequence[Sequence[Room]], profile: str) -> tuple[Page, ...]:
    view = summary_view(matrix, benchmark_rooms, profile=profile)
    return () if view is None else (Page(name=SUMMARY, text=render("summary.md.j2", view=view)),)


def _profiling(matrix: Matrix, benchmark_rooms: Sequence[Sequence[Room]], profile: str) -> tuple[Page, ...]:
    view = profiling_view(matrix, benchmark_rooms, profile=profile)
    return () if view is None else (Page(name=PROFILING, text=render("profiling.md.j2", view=view)),)


def _overview(matrix: Matrix, benchmark_rooms: Sequence[Sequence[Room]], profile: str) -> Page:
    return Page(
        name=OVERVIEW,
        text=render("overview.md.j2", view=overview_view(matrix, benchmark_rooms, profile=profile)),
    )


def _pages(
    matrix: Matrix, own_rooms: Sequence[Room], records: Sequence[Record], profile: str, published: str | None
) -> Iterator[Page]:
    name = own_rooms[0].benchmark.name
    drawn = {
        name: room_plot(own_rooms),
        f"{name}-scaling": scaling_plot(own_rooms),
        f"{name}-curves": curves_plot(own_rooms),
        f"{name}-phases": phases_plot(own_rooms, updates_here(matrix, records, own_rooms)),
        f"{name}-shares": shares_plot(own_rooms),
    }
    plots = {each: text for each, text in drawn.items() if text is not None}
    head = head_of(own_rooms, profile=profile, plots=frozenset(plots))
    yield Page(name=name, text=_benchmark(matrix, own_rooms, records, head, published))
    for each, text in plots.items():
        yield Page(name=each, text=text, ending="svg")


def _benchmark(
    matrix: Matrix, own_rooms: Sequence[Room], records: Sequence[Record], head: Head, published: str | None
) -> str:
    benchmark = own_rooms[0].benchmark
    match benchmark.kind:
        case Kind.OPERATION:
            operation = operation_view(matrix, records, own_rooms, head=head)
            return render("operation.md.j2", view=operation)
        case Kind.TRAINING:
            same_returns = same_returns_of(
                benchmark, records, matrix.profiles[head.profile], published=published
            )
            view = training_view(matrix, records, benchmark, own_rooms, head=head, same_returns=same_returns)
            return render("training.md.j2", view=view)
