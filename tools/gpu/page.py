"""The tables of docs/gpu.md, from a record."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any

from runner.report.tables.units import significant
from tools.gpu.measure import NO_TIME
from tools.gpu.rows import CPU, GPU, TRAININGS, Lengths

BEGIN, END = "<!-- tables -->", "<!-- end of tables -->"
Record = Mapping[str, Any]
# Rows in the order of the page, and what the page calls them: those of one training, and those of many at once.
_SINGLE = {
    ("ours", CPU): "ours, one core",
    ("jax", CPU): "JAX, one core",
    ("pytorch-tuned", CPU): "tuned PyTorch, one core",
    ("jax", GPU): "JAX, GPU",
    ("jax-graph", GPU): "JAX, GPU, loops as CUDA graphs",
    ("pytorch-graph", GPU): "PyTorch, GPU, updates as CUDA graphs",
    ("pytorch", GPU): "CleanRL's algorithm, GPU",
}
_MANY = {("ours", CPU): "ours, a core each", ("jax", GPU): "JAX, GPU"}
_TIMES = ("training loop", "from start to result")


def newest(root: Path) -> Record:
    """The record of the latest date in results/gpu; a ValueError where there is none."""
    texts = (path.read_text(encoding="utf-8") for path in (root / "results" / "gpu").glob("*.json"))
    records: list[Record] = [json.loads(text) for text in texts]
    return max(records, key=lambda record: str(record["date"]))


def write(root: Path) -> None:
    """Write the tables of the page anew."""
    path = root / "docs" / "gpu.md"
    path.write_text(rewritten(path.read_text(encoding="utf-8"), newest(root)), encoding="utf-8")


def rewritten(page: str, record: Record) -> str:
    """The page with its tables generated again."""
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not (begin and end):
        raise ValueError(f"the page has no {BEGIN} with an {END} after it")
    return f"{before}{BEGIN}\n{tables(record)}\n{END}{after}"


def tables(record: Record) -> str:
    """The machine's line, the table of one training at a time, and that of many at once."""
    machine, versions = record["machine"], record["versions"]
    where = (
        f"{machine['gpu']} (driver {machine['driver']}) beside {machine['cores']} cores of {machine['cpu']}, "
        f"{str(record['date'])[:10]}. Versions: PyTorch {versions['torch']}, JAX {versions['jax']}, "
        f"Python {versions['python']}."
    )
    return "\n\n".join([where, _table(_single(record)), _table(_many(record)), *_faults(record)])


def _single(record: Record) -> Iterator[Sequence[str]]:
    yield ("training", "program", *_TIMES, "loop, divided by ours", "mean return")
    for training in TRAININGS:
        ours = _values(_of(record, training, "ours", CPU), "loop_seconds")
        for kind, label in _SINGLE.items():
            found = _of(record, training, *kind)
            if found:
                loop = median(_values(found, "loop_seconds"))
                yield _cells(
                    record, found, label, rate=f"{significant(loop / median(ours))}x" if ours else "—"
                )


def _many(record: Record) -> Iterator[Sequence[str]]:
    yield ("training", "program", "at once", *_TIMES, "trainings a second", "mean return")
    counts = sorted({each["trainings"] for each in _passed(record)} - {1})
    for training in TRAININGS:
        for kind, label in _MANY.items():
            for count in counts:
                found = _of(record, training, *kind, count)
                if found:
                    rate = count / median(_values(found, "loop_seconds"))
                    yield _cells(record, found, label, f"{count:,}", rate=significant(rate))


def _cells(record: Record, found: Sequence[Record], *program: str, rate: str) -> Sequence[str]:
    """A row of either table, from the measurements of one program."""
    training = found[0]["training"]
    case = Lengths(**record["lengths"]).parameters(training)
    steps = case.get("steps") or case["iterations"] * case["rollout_steps"] * case["environments"]
    returns = _values(found, "mean_return")
    return (
        f"{training.upper()}, {steps:,} steps",
        *program,
        _range(_values(found, "loop_seconds")),
        _range(_values(found, "start_to_result_seconds")),
        rate,
        f"{median(returns):.0f}" if returns else "—",
    )


def _faults(record: Record) -> Iterator[str]:
    """What was not measured, and where the work differed. That later rounds had no time left is no fault."""
    lines = [
        f"* {each['training'].upper()}, {_program(each)}: {each['failure']}"
        for each in record["measurements"]
        if each["failure"] is not None and (each["round"] == 1 or each["failure"] != NO_TIME)
    ]
    lines += [f"* {each}" for each in record["differences"]]
    if lines:
        yield "Not measured, or with other numbers of steps:"
        yield "\n".join(dict.fromkeys(lines))


def _program(measurement: Record) -> str:
    kind, count = (measurement["row"], measurement["device"]), measurement["trainings"]
    return _SINGLE[kind] if count == 1 else f"{_MANY[kind]}, {count:,} at once"


def _passed(record: Record) -> Iterator[Record]:
    return (each for each in record["measurements"] if each["failure"] is None)


def _of(record: Record, training: str, row: str, device: str, trainings: int = 1) -> list[Record]:
    wanted = (training, row, device, trainings)
    return [
        each
        for each in _passed(record)
        if (each["training"], each["row"], each["device"], each["trainings"]) == wanted
    ]


def _values(found: Iterable[Record], name: str) -> list[float]:
    return [float(each[name]) for each in found if each[name] is not None]


def _range(seconds: Sequence[float]) -> str:
    """The median, and the least and most where there are several."""
    middle = f"{significant(median(seconds))} s"
    return (
        middle
        if len(seconds) == 1
        else f"{middle} ({significant(min(seconds))} to {significant(max(seconds))})"
    )


def _table(rows: Iterator[Sequence[str]]) -> str:
    head, *body = rows
    rule = [":---"] * 2 + ["---:"] * (len(head) - 2)
    return "\n".join(f"| {' | '.join(cells)} |" for cells in [head, rule, *body])
