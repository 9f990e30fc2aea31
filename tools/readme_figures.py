"""The rows of trainings and operations in README.md and docs/results/, and the README's plot, from published records.

    python -m tools.readme_figures            # say what differs; the exit code is 1 then
    python -m tools.readme_figures --write    # write it anew

A person writes the link of a row, the words behind it and the machine's name. Everything else is generated.
"""

import argparse
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path

from runner.figures.statistics import Interval
from runner.matrix import Matrix, Side, load_matrix
from runner.publishing.pages import MATRIX
from runner.records.publication import Publication
from runner.records.record import Record
from runner.records.store import newest_by_key
from runner.report.tables import texts, units
from runner.report.tables.plots.ratio import Ratio, ratio_plot
from runner.report.tables.selection import Room, Row, rooms
from runner.report.tables.warnings import is_loaded
from tools import operation_rows
from tools.operation_rows import named, time

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
RESULTS = tuple(sorted((ROOT / "docs" / "results").glob("*.md")))
PLOT = ROOT / "docs" / "figures" / "trainings.svg"
# Our side, and what the words of a row say where it is another implementation.
_PLAIN = "rust"
_OURS = {"Gymnasium's own environment": "rust-gymnasium"}
_START = (
    r"\| (?P<link>\[(?P<name>[A-Z]+)\]\((?:\.\./)*(?P<folder>results/published/[^/]+)"
    r"/tables/(?P<profile>[a-z]+)/(?P<benchmark>[a-z-]+)\.md\)(?P<words>[^|]*))"
) + operation_rows.MACHINE
_ROW = re.compile(_START + r"(?P<figures>(?: [^|]* \|){5})(?P<peer>(?: [^|]* \|){2})?")
# The table of the nearest libraries has four figures a row, and so has the first screen's.
_LIBRARY_ROW = re.compile(_START + r"(?: [^|]* \|){4}")
# The table of lower bounds has three.
_BOUND_ROW = re.compile(_START + r"(?: [^|]* \|){3}")
_BOUND_HEAD = "the limit is faster by |"
_BEGIN, _END = "<!-- headline -->", "<!-- end of headline -->"
# The line below that table, of peers whose work differs.
_OTHER_WORK = "Fastest at other work, unranked: "


def rewritten(readme: str) -> str:
    """The text with the rows of whole trainings generated again."""
    before, begin, rest = readme.partition(_BEGIN)
    headline, end, after = rest.partition(_END)
    return f"{_rows(before)}{begin}{_first_screen(headline)}{end}{_rows(after)}"


def _rows(text: str) -> str:
    return "\n".join(map(_row, text.split("\n")))


def _row(line: str) -> str:
    if found := _ROW.fullmatch(line):
        return _marked(found) if found["peer"] else _rewritten(found)
    if found := _LIBRARY_ROW.fullmatch(line):
        return _of_libraries(found)
    if found := _BOUND_ROW.fullmatch(line):
        return _of_bound(found)
    if found := operation_rows.ROW.fullmatch(line):
        return _of_operation(found)
    return line


def _of_operation(found: re.Match[str]) -> str:
    room = _room(ROOT / found["folder"], found["benchmark"], found["profile"], found["limits"])
    figures: Sequence[str]
    if case := found["case"]:
        loaded, figures = _load(room.of_case(case)), operation_rows.figures_of_case(room, case)
    else:
        loaded = _load(row for both in operation_rows.compared(room) for row in both)
        figures = operation_rows.figures(room)
    return f"| {found['link']} | {found['machine']}{loaded} | {' | '.join(figures)} |"


def _of_libraries(found: re.Match[str]) -> str:
    """Ours, the fastest library that does the same work, and the fastest whose work differs."""
    room, ours, _, _ = _sides(found)
    other = room.fastest_at_other_work(ours.case.name)
    nearest = room.fastest(ours.case.name, [Side.PEER])
    if nearest is None:
        raise ValueError(f"{found['folder']}: no library does the work of {room.benchmark.name}")
    figures = (
        time(room, ours),
        named(room, nearest),
        _ratio(room, nearest, ours),
        "—" if other is None else named(room, other),
    )
    return f"| {found['link']} | {found['machine']}{_load((ours, nearest))} | {' | '.join(figures)} |"


def _of_bound(found: re.Match[str]) -> str:
    """The lower bound of a training, ours, and how many times faster the bound is.

    They are of the page: today's matrix says more of an update than an older publication measured.
    """
    room, ours, _, _ = _sides(found)
    page = f"{found['folder']}/tables/{found['profile']}/{found['benchmark']}.md"
    _, head, below = (ROOT / page).read_text(encoding="utf-8").partition(f"{_BOUND_HEAD}\n")
    rows = [re.split(r" *\| *", line.strip("| ")) for line in below.partition("\n\n")[0].splitlines()]
    wanted = [ours.case.name, ours.implementation.name]
    of_ours = [row for row in rows if row[:2] == wanted]
    if not head or not of_ours:
        raise ValueError(f"{page}: no lower bound of {room.benchmark.name} for {wanted[1]}")
    bound, training, faster = of_ours[0][4], *of_ours[0][-2:]
    return f"| {found['link']} | {found['machine']}{_load((ours,))} | {bound} | {training} | {faster} |"


def _marked(found: re.Match[str]) -> str:
    """A row of the libraries' table, whose seven figures have a test of their own: it says how loaded the machine was."""
    room, ours, _, _ = _sides(found)
    loaded = _load(room.of_case(ours.case.name))
    return f"| {found['link']} | {found['machine']}{loaded} |{found['figures']}{found['peer']}"


def _first_screen(table: str) -> str:
    """The table of the headline, and the line below it."""
    lines = table.split("\n")
    found = list(filter(None, map(_LIBRARY_ROW.fullmatch, lines)))
    for index, line in enumerate(lines):
        if row := _LIBRARY_ROW.fullmatch(line):
            lines[index] = _beside_all(row)
        elif line.startswith(_OTHER_WORK):
            lines[index] = _OTHER_WORK + "; ".join(_of_other_work(found)) + "."
    return "\n".join(lines)


def _beside_all(found: re.Match[str]) -> str:
    """Ours; then the reference, its fastest variant and the fastest peer, each with how much faster ours is."""
    room, ours, reference, best = _sides(found)
    peer = room.fastest(ours.case.name, [Side.PEER])
    figures = (
        time(room, ours),
        f"{time(room, reference)}: {_ratio(room, reference, ours)}",
        f"{_best(room, best)}: {_ratio(room, best, ours)}",
        "—" if peer is None else f"{named(room, peer)}: {_ratio(room, peer, ours)}",
    )
    shown = (ours, reference, best, *([] if peer is None else [peer]))
    return f"| {found['link']} | {found['machine']}{_load(shown)} | {' | '.join(figures)} |"


def _of_other_work(table: Sequence[re.Match[str]]) -> Iterator[str]:
    """Each training's fastest competitor whose work differs, in how many points, and its time beside ours."""
    told = set()
    for found in table:
        room, ours, _, _ = _sides(found)
        other = room.fastest_at_other_work(ours.case.name)
        if other is None or room.benchmark.name in told:
            continue
        told.add(room.benchmark.name)
        points = len(other.implementation.differs)
        page = f"{found['folder']}/tables/{found['profile']}/{found['benchmark']}.md"
        differences = f"[{points} difference{'s' if points > 1 else ''}]({page})"
        yield f"{found['name']} {texts.timed(room, other)} ({differences}), ours {time(room, ours)}"


def _rewritten(found: re.Match[str]) -> str:
    room, ours, reference, best = _sides(found)
    figures = (
        time(room, ours),
        time(room, reference),
        _ratio(room, reference, ours),
        _best(room, best),
        _ratio(room, best, ours),
    )
    return f"| {found['link']} | {found['machine']}{_load((ours, reference, best))} | {' | '.join(figures)} |"


def _best(room: Room, best: Row) -> str:
    """The fastest variant with its time, and which variants have none and might be faster."""
    absent = [each.removeprefix("pytorch-") for each in room.untimed_variants(best.case.name)]
    without = f", without {' and '.join(absent)}" if absent else ""
    return f"{best.implementation.name.removeprefix('pytorch-')}, {time(room, best)}{without}"


def plot(readme: str) -> str:
    """The plot of all rows of a text."""
    ratios = []
    for found in filter(None, map(_LIBRARY_ROW.fullmatch, readme.split("\n"))):
        room, ours, reference, best = _sides(found)
        group = f"{found['name']}{found['words']}"
        ratios += [
            Ratio(
                group=group,
                label="than CleanRL's algorithm",
                interval=_interval(room, reference, ours),
                strong=False,
            ),
            Ratio(
                group=group, label="than the best variant of PyTorch", interval=_interval(room, best, ours)
            ),
        ]
    return ratio_plot(
        "Training with our Rust core, against PyTorch", "how many times faster: 1x is equally fast", ratios
    )


def _sides(found: re.Match[str]) -> tuple[Room, Row, Row, Row]:
    """A row's room; ours, the reference, and the reference's fastest variant."""
    room = _room(ROOT / found["folder"], found["benchmark"], found["profile"])
    ours, reference, best = _compared(room)
    # By its name: a short training may be faster in Gymnasium's environment by chance.
    wanted = next((name for words, name in _OURS.items() if words in found["words"]), _PLAIN)
    [ours] = [row for row in room.of_case(ours.case.name) if row.implementation.name == wanted]
    return room, ours, reference, best


@cache
def _matrix(folder: Path) -> Matrix:
    """The matrix of a publication, whose cases keep what they meant; older publications hold none, and get today's."""
    own = folder / MATRIX
    return load_matrix(own if own.exists() else ROOT / MATRIX, builds=False)


@cache
def _records(folder: Path) -> Sequence[Record]:
    return tuple(newest_by_key(Publication.at(folder).records()).values())


def _room(folder: Path, benchmark: str, profile: str, limits: str | None = None) -> Room:
    """The room that was run natively: under these limits, or the only one, or that of the first limits."""
    ran = [
        room for room in rooms(_matrix(folder), _records(folder), benchmark, profile=profile) if room.ranked
    ]
    if limits or len(ran) > 1:
        ran = [room for room in ran if (room.limits.name == limits if limits else room.ordinary)]
    [found] = ran
    return found


def _compared(room: Room) -> tuple[Row, Row, Row]:
    """Ours, the reference, and the reference's fastest variant, at the first case that was run."""
    for case in room.benchmark.cases:
        ours, best = room.fastest(case, [Side.OURS]), room.fastest(case, [Side.REFERENCE])
        if ours is not None and best is not None:
            return ours, room.reference(case), best
    raise ValueError(f"no case of {room.benchmark.name} has times of both sides")


def _ratio(room: Room, base: Row, against: Row) -> str:
    found = _interval(room, base, against)
    return f"{units.times(found)}{operation_rows.unless_faster(found)}"


def _interval(room: Room, base: Row, against: Row) -> Interval:
    ratio = room.ratio(base, against)
    if ratio is None:
        raise ValueError(f"{room.benchmark.name}: no ratio of {against.implementation.name}")
    return ratio


def _load(shown: Iterable[Row]) -> str:
    """How many launches behind these figures were disturbed; nothing where none was."""
    launches = {record.launch.id: is_loaded(record) for row in shown for record in row.passed}
    loaded = sum(launches.values())
    return f", loaded in {loaded} of {len(launches)} launches" if loaded else ""


def main(arguments: Sequence[str] | None = None) -> int:
    """Compare or write; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tools.readme_figures", description=__doc__)
    parser.add_argument("--write", action="store_true", help="write all of it anew")
    write = parser.parse_args(arguments).write
    texts = {path: path.read_text(encoding="utf-8") for path in (README, *RESULTS)}
    wanted = {path: rewritten(text) for path, text in texts.items()} | {PLOT: plot(texts[README])}
    if write:
        for path, text in wanted.items():
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, encoding="utf-8")
        return 0
    for path in (README, *RESULTS):
        for old, new in zip(texts[path].split("\n"), wanted[path].split("\n"), strict=True):
            if old != new:
                print(f"{path.name}\n- {old}\n+ {new}")
    return int(wanted != {path: path.read_text(encoding="utf-8") for path in wanted})


if __name__ == "__main__":
    sys.exit(main())
