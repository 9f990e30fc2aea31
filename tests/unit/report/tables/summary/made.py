"""Records of the real matrix with invented times, and the rooms that they make."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from example_records import make_record

from runner.matrix import load_matrix
from runner.records.record import Record
from runner.report.tables.selection import Room, rooms
from runner.report.tables.summary.places import Rooms, places

MATRIX = load_matrix(Path(__file__).parents[5] / "matrix.yaml")
PROFILE = "full"
OURS = 1e-6
SEEDS = (1, 2, 3, 4, 5)


def timed(
    benchmark: str,
    case: str,
    implementation: str,
    seconds: float,
    seeds: Sequence[int] = SEEDS,
    **changes: object,
) -> list[Record]:
    """Records of one row, whose processes all took the same time."""
    found = MATRIX.benchmarks[benchmark]
    sizes = found.sizes[PROFILE].of(emulated=changes.get("execution") == "emulated")
    made = {
        "parameters": {**found.cases[case].parameters, **sizes},
        "metrics": {"seconds": [seconds] * 3},
        "outputs": {},
        "profile": PROFILE,
        **changes,
    }
    return [
        make_record(benchmark=benchmark, case=case, implementation=implementation, seed=seed, **made)  # type: ignore[arg-type]  # each of its own type
        for seed in seeds
    ]


def leads(times_slower: Mapping[tuple[str, str, str], float], mine: str = "torchforge") -> list[Record]:
    """Records in which ``mine`` is so many times faster than each implementation: benchmark, case, implementation."""
    cases = dict.fromkeys((benchmark, case) for benchmark, case, _ in times_slower)
    return [
        *(record for place in cases for record in timed(*place, mine, OURS)),
        *(record for row, times in times_slower.items() for record in timed(*row, times * OURS)),
    ]


def every_room(records: Sequence[Record]) -> list[tuple[Room, ...]]:
    """The rooms of each benchmark that was run."""
    names = dict.fromkeys(record.benchmark for record in records)
    return [rooms(MATRIX, records, name, profile=PROFILE) for name in names]


def rooms_of(records: Sequence[Record]) -> Rooms:
    """The rooms of the only place; none where there is no record."""
    found = places(MATRIX, every_room(records))
    return found[0].rooms if found else {}
