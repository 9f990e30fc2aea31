"""The rows of whole trainings in README.md: figures and flags of load come from the records of a publication.

    python -m tools.readme_figures            # say which rows differ; the exit code is 1 then
    python -m tools.readme_figures --write    # write them anew

A person writes the link of a row, the words behind it and the machine's name. Everything else is generated.
"""

import argparse
import re
import sys
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path

from runner.matrix import Matrix, Side, load_matrix
from runner.records.publication import Publication
from runner.records.record import Record
from runner.records.store import newest_by_key
from runner.report.tables import units
from runner.report.tables.selection import Room, Row, rooms
from runner.report.tables.warnings import is_loaded

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
_ROW = re.compile(
    r"\| (?P<link>\[[A-Z]+\]\((?P<folder>results/published/[^/]+)/tables/(?P<profile>[a-z]+)/(?P<benchmark>[a-z-]+)\.md\)"
    r"[^|]*) \| (?P<machine>[^|]*?)(?:, loaded in \d+ of \d+ launches)? \|(?P<figures>(?: [^|]* \|){5})"
)


def rewritten(readme: str) -> str:
    """The text with the rows of whole trainings generated again."""
    return "\n".join(_rewritten(line) for line in readme.split("\n"))


def _rewritten(line: str) -> str:
    found = _ROW.fullmatch(line)
    if found is None:
        return line
    room = _room(ROOT / found["folder"], found["benchmark"], found["profile"])
    ours, reference, best = _compared(room)
    figures = (
        _time(room, ours),
        _time(room, reference),
        _ratio(room, reference, ours),
        f"{best.implementation.name.removeprefix('pytorch-')}, {_time(room, best)}",
        _ratio(room, best, ours),
    )
    return f"| {found['link']} | {found['machine']}{_load((ours, reference, best))} | {' | '.join(figures)} |"


@cache
def _matrix() -> Matrix:
    return load_matrix(ROOT / "matrix.yaml")


@cache
def _records(folder: Path) -> Sequence[Record]:
    return tuple(newest_by_key(Publication.at(folder).records()).values())


def _room(folder: Path, benchmark: str, profile: str) -> Room:
    """The one room of the benchmark that was run natively."""
    [found] = [room for room in rooms(_matrix(), _records(folder), benchmark, profile=profile) if room.ranked]
    return found


def _compared(room: Room) -> tuple[Row, Row, Row]:
    """Ours, the reference, and the reference's fastest variant, at the first case that was run."""
    for case in room.benchmark.cases:
        ours, best = room.fastest(case, [Side.OURS]), room.fastest(case, [Side.REFERENCE])
        if ours is not None and best is not None:
            return ours, room.reference(case), best
    raise ValueError(f"no case of {room.benchmark.name} has times of both sides")


def _time(room: Room, row: Row) -> str:
    figure = row.figure(room.benchmark.headline)
    if figure is None:
        raise ValueError(f"{room.benchmark.name} {row.implementation.name} has no time")
    return units.figure_value(figure.value, room.benchmark.headline)


def _ratio(room: Room, base: Row, against: Row) -> str:
    ratio = room.ratio(base, against)
    if ratio is None:
        raise ValueError(f"{room.benchmark.name}: no ratio of {against.implementation.name}")
    return f"{units.significant(ratio.value)}x{units.bounds(ratio)}"


def _load(shown: Iterable[Row]) -> str:
    """How many launches behind these figures began on a loaded machine; nothing where none did."""
    launches = {record.launch.id: is_loaded(record) for row in shown for record in row.passed}
    loaded = sum(launches.values())
    return f", loaded in {loaded} of {len(launches)} launches" if loaded else ""


def main(arguments: Sequence[str] | None = None) -> int:
    """Compare or write; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tools.readme_figures", description=__doc__)
    parser.add_argument("--write", action="store_true", help="write the rows anew")
    write = parser.parse_args(arguments).write
    before = README.read_text(encoding="utf-8")
    after = rewritten(before)
    if write:
        README.write_text(after, encoding="utf-8")
        return 0
    pairs = zip(before.split("\n"), after.split("\n"), strict=True)
    differing = [(old, new) for old, new in pairs if old != new]
    for old, new in differing:
        print(f"- {old}\n+ {new}")
    return int(bool(differing))


if __name__ == "__main__":
    sys.exit(main())
