"""Which publication decided which returns, for pages whose own seeds are too few.

    python -m tools.decided_returns            # say what differs; the exit code is 1 then
    python -m tools.decided_returns --write    # write it anew

The newest publication counts that has as many seeds as the rule in matrix.yaml asks for. Its records are judged here as a
page judges its own.
"""

import argparse
import csv
import json
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import msgspec

from runner.matrix import Matrix, load_matrix
from runner.records.publication import Publication, is_publication
from runner.records.store import newest_by_key
from runner.report.tables.decided import FILE, Decided
from runner.report.tables.same_returns import decided_here

ROOT = Path(__file__).parents[1]
PUBLISHED = ROOT / "results" / "published"


def decided_returns(published: Path, matrix: Matrix) -> str:
    """The text of the file, from the publications below a folder."""
    found: dict[tuple[str, str, str], Decided] = {}
    for folder in sorted(path for path in published.iterdir() if is_publication(path)):
        for each in _of(Publication.at(folder), matrix):
            found[each.benchmark, each.case, each.implementation] = each
    return json.dumps([msgspec.to_builtins(each) for each in found.values()], indent=1) + "\n"


def _of(publication: Publication, matrix: Matrix) -> Iterator[Decided]:
    seeds = _seeds(publication.root)
    enough = [
        benchmark
        for benchmark in matrix.benchmarks.values()
        if benchmark.returns
        and any(len(seeds[benchmark.name]) >= rule.seeds for rule in benchmark.returns.equivalence.values())
    ]
    # Records are read only where they can decide something: all of them take a minute.
    records = list(newest_by_key(publication.records()).values()) if enough else []
    for benchmark in enough:
        for profile in matrix.profiles.values():
            yield from decided_here(benchmark, records, profile, publication=publication.root.name)


def _seeds(folder: Path) -> Mapping[str, set[str]]:
    """The seeds of each benchmark, as the summary has them."""
    found: dict[str, set[str]] = defaultdict(set)
    with (folder / "summary.csv").open(encoding="utf-8", newline="") as summary:
        for row in csv.DictReader(summary):
            found[row["benchmark"]].add(row["seed"])
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    """Compare or write; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tools.decided_returns", description=__doc__)
    parser.add_argument("--write", action="store_true", help="write it anew")
    wanted = decided_returns(PUBLISHED, load_matrix(ROOT / "matrix.yaml"))
    if parser.parse_args(arguments).write:
        FILE.write_text(wanted, encoding="utf-8")
        return 0
    if differs := wanted != FILE.read_text(encoding="utf-8"):
        print(f"{FILE} is not what the publications say; write it anew with --write")
    return int(differs)


if __name__ == "__main__":
    sys.exit(main())
