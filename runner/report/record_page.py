"""One record on one screen: its cell, figures, origin, gate checks and failure."""

import statistics
from collections.abc import Iterator, Sequence

from msgspec import UnsetType
from tabulate import tabulate

from runner.records.measured import GateCheck
from runner.records.record import Record
from runner.report.tables import units
from runner.system import printable

_LONGEST_LINE = 200
_LONGEST_COMMAND = 180
_MOST_CHECKS, _MOST_METRICS, _MOST_LINES = 8, 12, 8
_LAST_EPISODES = 100


def record_page(record: Record) -> str:
    """The text of the page. Every word of the record in it is printable."""
    parts = [
        tabulate(_facts(record), tablefmt="plain", disable_numparse=True),
        *_figures(record),
        *_referee(record),
        "\n".join(_gate(record.gate)),
        *_failure(record),
    ]
    # Every table cell is a single line before the join, so that no record can add a row.
    return printable.lines("\n\n".join(parts), _LONGEST_LINE)


def _facts(record: Record) -> list[tuple[str, str]]:
    cell, launch, machine, image = record.cell, record.launch, record.machine, record.image
    emulator = f" by {record.execution.emulator}" if record.execution.emulator else ""
    rows = [
        ("record", record.identifier),
        ("seal", f"{record.content_sha256}, intact"),
        ("cell", f"{record.benchmark}, {record.case}, {record.implementation}, seed {record.seed}"),
        (
            "on",
            f"{record.platform} ({record.execution.kind.value}{emulator}), toolchain {cell.toolchain}, "
            f"limits {cell.limits}, profile {record.profile}",
        ),
        ("made", record.created_at),
        (
            "launch",
            f"{launch.id}: {units.seconds(launch.wall_seconds)}, exit code {units.or_unknown(launch.exit_code)}",
        ),
        (
            "machine",
            f"{units.or_unknown(machine.cpu_model)}, {units.or_unknown(machine.logical_cpus)} CPUs, "
            f"{_size(machine.memory_bytes)}",
        ),
        (
            "image",
            f"{image.target} {image.architecture}, config {units.or_unknown(image.config_digest)}",
        ),
        ("command", " ".join(record.command)),
    ]
    return [(name, printable.one_line(str(value), _LONGEST_COMMAND)) for name, value in rows]


def _figures(record: Record) -> Iterator[str]:
    if record.measurement is None:
        yield "no measurement"
        return
    rows = [_metric(name, record.values(name)) for name in record.metrics]
    yield tabulate(
        rows[:_MOST_METRICS],
        headers=["metric", "median", "least", "most", "n"],
        tablefmt="simple",
        disable_numparse=True,
    ) + _rest(rows, _MOST_METRICS, "metrics")
    yield "\n".join(_beside(record))


def _metric(name: str, values: Sequence[float]) -> tuple[str, str, str, str, str]:
    if not values:
        return name, units.NOTHING, units.NOTHING, units.NOTHING, "0"
    median, least, most = (
        units.figure_value(each, name) for each in (statistics.median(values), min(values), max(values))
    )
    return name, median, least, most, str(len(values))


def _beside(record: Record) -> Iterator[str]:
    memory = record.memory
    yield f"peak memory: process {_size(memory.vmhwm_bytes)}, cgroup {_size(memory.cgroup_peak_bytes)}"
    counts = [f"{name} {units.count(value)}" for name, value in record.counts.items()]
    yield f"counts: {', '.join(counts[:_MOST_METRICS]) or 'none'}{_rest(counts, _MOST_METRICS, 'counts')}"
    if record.played:
        last = [each.total for each in record.played[-_LAST_EPISODES:]]
        yield (
            f"episodes: {len(record.played)}; the last {len(last)} have a mean return of "
            f"{units.plain(statistics.fmean(last))}"
        )


def _referee(record: Record) -> Iterator[str]:
    """What the referee saw: each window, and what its claims are held against."""
    seen = record.referee
    if not seen:
        return
    ranked = len(seen.windows) - 1
    yield tabulate(
        [
            (
                "ranked" if index == ranked else f"round {index + 1}",
                units.count(window.repetitions),
                units.seconds(window.seconds),
                _seconds(window.cpu_seconds),
                units.seconds(window.between_seconds),
                _count(window.preemptions),
                _seconds(window.stolen_seconds),
            )
            for index, window in enumerate(seen.windows)
        ],
        headers=["window", "repetitions", "lasted", "processor time", "between", "preemptions", "stolen"],
        tablefmt="simple",
        disable_numparse=True,
    )
    yield (
        f"referee: nonce {seen.nonce}, ready after {units.seconds(seen.ready_seconds)}, slowest empty round trip "
        f"{units.seconds(seen.channel_seconds)}, {seen.void_windows} windows opened again\n"
        f"outputs asked for of repetitions {', '.join(map(str, seen.asked[:_MOST_CHECKS]))}"
        f"{', ...' if len(seen.asked) > _MOST_CHECKS else ''}"
    )


def _gate(checks: Sequence[GateCheck]) -> Iterator[str]:
    refused = [check for check in checks if not check.passed]
    yield f"gate: {len(checks) - len(refused)} of {len(checks)} checks passed"
    for check in refused[:_MOST_CHECKS]:
        yield "  " + printable.one_line(f"refused: {check.check}: {check.detail}", _LONGEST_LINE)
    if len(refused) > _MOST_CHECKS:
        yield f"  and {len(refused) - _MOST_CHECKS} more"


def _failure(record: Record) -> Iterator[str]:
    failure = record.failure
    if failure is None:
        return
    lines = [printable.one_line(f"failure: {failure.kind}: {failure.detail}", _LONGEST_LINE)]
    tail = [line for line in record.launch.stderr_tail.splitlines() if line.strip()]
    lines += [f"  | {printable.one_line(line, _LONGEST_LINE)}" for line in tail[-_MOST_LINES:]]
    yield "\n".join(lines)


def _rest(items: Sequence[object], most: int, what: str) -> str:
    return f"\nand {len(items) - most} more {what}" if len(items) > most else ""


def _seconds(value: float | UnsetType | None) -> str:
    return units.seconds(value) if isinstance(value, int | float) else units.UNKNOWN


def _count(value: int | UnsetType | None) -> str:
    return units.count(value) if isinstance(value, int) else units.UNKNOWN


def _size(value: int | UnsetType | None) -> str:
    return units.size(value) if isinstance(value, int) else units.UNKNOWN
