"""The warnings about the circumstances of one platform's figures."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

from msgspec import UNSET, UnsetType

from runner.figures.comparison import one_run
from runner.figures.statistics import LEAST_PROCESSES, outliers
from runner.records.place import MachineState
from runner.records.record import Record
from runner.records.refereed import WindowFacts
from runner.report.tables import units
from runner.report.tables.machines import by_machine
from runner.report.tables.selection import Room

# A higher load, as a share of the logical processors and without the launch before, means that other work was
# running. So does a higher share of processors that were busy between launches.
_HIGH_LOAD = 0.5
_HIGH_BUSY = 0.25
_HIGH_PRESSURE = 10.0
# Of a ranked window: the share of it that a hypervisor took, and preemptions a second beyond those that the kernel's own
# threads cause.
_HIGH_STEAL = 0.01
_MANY_PREEMPTIONS = 100.0
_PINNED_GOVERNOR = "performance"
# Bits of a Raspberry Pi's get_throttled that hold now: too little power, a bounded frequency, throttled, too hot.
_HELD_BACK_NOW = 0xF
# Counts of the machine that must not rise while a launch runs, and what it means where one does.
_COUNTERS = {
    "throttle_count": "ran while the processor throttled itself",
    "quota_throttle_count": "were stopped by a CPU quota of a control group",
    "swapped_pages": "ran while the machine swapped",
}


def warnings(rooms: Sequence[Room]) -> tuple[str, ...]:
    """The warnings about the rooms of one platform, most general first."""
    records = [record for room in rooms for record in room.records]
    if not records:
        return ()
    return (*warnings_of_records(records), *_of_figures(rooms))


def warnings_of_records(records: Sequence[Record]) -> tuple[str, ...]:
    """The warnings that records of one platform give without any matrix, most general first."""
    return (*_of_machines(records), *_of_state(records), *_of_limits(records))


def flags_of_load(records: Sequence[Record]) -> tuple[str, ...]:
    """What records of one platform say of other work on the machine; a publication is refused for it."""
    return tuple(_of_state(records))


def is_loaded(record: Record) -> bool:
    """Whether other work ran beside the record's launch, or its machine was held back."""
    disturbed = (
        _busy,
        _busy_after,
        _loaded,
        _pressed,
        _short_of_memory,
        _loaded_after,
        _robbed,
        _preempted,
        _held_back,
        _changed,
    )
    return any(is_so(record) for is_so in disturbed) or any(_rose(record, name) for name in _COUNTERS)


def _of_machines(records: Sequence[Record]) -> Iterator[str]:
    """The warnings about each machine.

    A warning that does not hold for all machines names them by the page's numbers.
    """
    machines = by_machine(records)
    about: dict[str, list[int]] = {}
    for number, (machine, members) in enumerate(machines, start=1):
        for text in (*warnings_of_machine(machine), *_of_throttling(members)):
            about.setdefault(text, []).append(number)
    for text, numbers in about.items():
        if len(numbers) == len(machines):
            yield text
        else:
            yield f"Machine{'s' if len(numbers) > 1 else ''} {', '.join(map(str, numbers))}: {text}"


def warnings_of_machine(machine: Mapping[str, Any]) -> Iterator[str]:
    """The warnings about a machine at rest."""
    governor = machine.get("governor")
    if governor is None:
        yield "The CPU frequency governor is unknown: the frequency may have moved during the runs."
    elif governor != _PINNED_GOVERNOR:
        yield f"The CPU frequency governor is {governor}, not {_PINNED_GOVERNOR}: the frequency moves."
    for key, name in (("turbo", "Turbo"), ("smt", "SMT")):
        if machine.get(key) is None:
            # An ARM processor has turbo only where its kernel shows a switch for it.
            if (key, machine.get("architecture")) != ("turbo", "arm64"):
                yield f"{name}: unknown."
        elif machine[key]:
            yield f"{name} is on."
    if machine.get("hypervisor"):
        yield "The machine is virtual: neighbours may share its processor."
    if machine.get("swap_bytes"):
        yield f"Swap is present ({units.size(machine['swap_bytes'])})."


def _of_state(records: Sequence[Record]) -> Iterator[str]:
    def launches(is_so: Callable[[Record], bool]) -> int:
        return len({record.launch.id for record in records if is_so(record)})

    total = launches(lambda _: True)
    for count, meaning in (
        (launches(_busy), "began while other work kept more than a quarter of the processors busy"),
        (launches(_busy_after), "ended while other work kept more than a quarter of the processors busy"),
        (
            launches(_loaded),
            "began while the machine was loaded (1-minute load above half of its processors beside those of a launch)",
        ),
        (launches(_pressed), "began under CPU pressure (avg10 above 10 %)"),
        (launches(_loaded_after), "ended while the machine was loaded"),
        (
            launches(_robbed),
            "lost more than 10 ms a second of a ranked window to other guests of the machine (steal)",
        ),
        (launches(_preempted), "were preempted more than 100 times a second in a ranked window"),
        (launches(lambda record: bool(record.launch.state.swap_used_bytes)), "began with swap in use"),
        (launches(_short_of_memory), "began while processes waited for memory or a disk (avg10 above 10 %)"),
        *(
            (launches(lambda record, name=name: _rose(record, name)), meaning)  # type: ignore[misc]  # mypy infers no default
            for name, meaning in _COUNTERS.items()
        ),
        (launches(_held_back), "ran while the board held its processor back (too hot, or too little power)"),
        (launches(_changed), "ended with another governor or another state of turbo than they began with"),
    ):
        if count:
            yield f"{count} of {total} launches {meaning}."


def _of_throttling(records: Iterable[Record]) -> Iterator[str]:
    """The counts of one machine, because each machine counts separately."""
    in_order = sorted(records, key=lambda record: record.launch.started_at)
    counts = [
        value for record in in_order if (value := _known(record.launch.state.throttle_count)) is not None
    ]
    # A count begins again with the system.
    if any(later > earlier for earlier, later in pairwise(counts)):
        yield "The processor throttled between launches: its throttle count rose."


def _of_limits(records: Iterable[Record]) -> Iterator[str]:
    wanted = ("cpuset", "memory_bytes", "swap", "pids", "threads")
    loose = dict.fromkeys(
        name for name in wanted for record in records if name not in record.launch.limits.enforced
    )
    if loose:
        yield f"Limits that were stated and not enforced in every launch: {', '.join(loose)}."


def _of_figures(rooms: Iterable[Room]) -> Iterator[str]:
    for room in rooms:
        metric = room.benchmark.headline
        flagged = [row for row in room.rows if (found := row.processes(metric)) and outliers(found)]
        if flagged:
            names = ", ".join(f"{row.case.name} {row.implementation.name}" for row in flagged)
            yield f"{room.benchmark.name}: outliers flagged, and kept, in {names}."
        few = {row.implementation.name for row in room.rows if 0 < len(row.passed) < LEAST_PROCESSES}
        if few and room.ranked:
            names = ", ".join(sorted(few))
            yield f"{room.benchmark.name}: fewer than {LEAST_PROCESSES} processes, so not ranked: {names}."
        short = {row.implementation.name for row in room.rows if row.is_repeated and not row.judged}
        if short and room.ranked:
            yield (
                f"{room.benchmark.name}: some windows were too short for the referee to judge, or less than half of them "
                "was timed, so these have no ratio: "
                f"{', '.join(sorted(short))}."
            )
        apart = {
            row.implementation.name
            for row in room.rows
            if row.passed and not one_run(row.passed, room.reference(row.case.name).passed or row.passed)
        }
        if apart and room.ranked:
            yield (
                f"{room.benchmark.name}: measured in another run than the reference, so these have no ratio: "
                f"{', '.join(sorted(apart))}. To do: --fresh --only {room.benchmark.name}."
            )
        targets = {
            target
            for row in room.rows
            for record in row.passed
            if (target := _known(record.launch.target_precision))
        }
        if targets:
            yield (
                f"{room.benchmark.name}: a rule chose the number of processes: until each interval was within "
                f"{' or '.join(f'{100 * each:.3g} %' for each in sorted(targets))} of its figure, or a budget ended. "
                "Such an interval holds the truth a little less often."
            )
        if room.outdated:
            yield (
                f"{room.benchmark.name}: {room.outdated} older records were left out"
                " (replaced, or of another machine, image, way of execution or an earlier matrix)."
            )


def _busy(record: Record) -> bool:
    return _is_busy(record, record.launch.state)


def _busy_after(record: Record) -> bool:
    return _is_busy(record, record.launch.state_after)


def _is_busy(record: Record, state: MachineState | UnsetType) -> bool:
    busy, processors = _sampled(state), _known(record.machine.logical_cpus)
    return busy is not None and processors is not None and busy > _HIGH_BUSY * processors


def _sampled(state: MachineState | UnsetType) -> float | None:
    """How many processors were busy between launches; None in older records, and where nobody could look twice."""
    return None if state is UNSET else _known(state.busy_processors)


def _loaded(record: Record) -> bool:
    return _is_high(record, record.launch.state)


def _loaded_after(record: Record) -> bool:
    return _is_high(record, record.launch.state_after)


def _is_high(record: Record, state: MachineState | UnsetType) -> bool:
    # The averages hold launches that have ended, so a sample counts in their place.
    if state is UNSET or _sampled(state) is not None:
        return False
    load, processors = _known(state.load_1m), _known(record.machine.logical_cpus)
    # The mean of a minute includes the launch itself, or the one that ended just before.
    own = record.launch.limits.threads
    return (
        load is not None
        and processors is not None
        and processors > 0
        and load > own + _HIGH_LOAD * processors
    )


def _pressed(record: Record) -> bool:
    state = record.launch.state
    pressure = _known(state.cpu_pressure_avg10)
    return _sampled(state) is None and pressure is not None and pressure > _HIGH_PRESSURE


def _short_of_memory(record: Record) -> bool:
    state = record.launch.state
    shares = (_known(state.memory_pressure_avg10), _known(state.io_pressure_avg10))
    return any(share is not None and share > _HIGH_PRESSURE for share in shares)


def _rose(record: Record, counter: str) -> bool:
    """Whether a counter of the machine rose while the launch ran."""
    before, after = _before_and_after(record, counter)
    return before is not None and after is not None and after > before


def _changed(record: Record) -> bool:
    """Whether the frequency was steered otherwise at the end of the launch."""
    pairs = [_before_and_after(record, name) for name in ("governor", "turbo")]
    return any(None not in pair and pair[0] != pair[1] for pair in pairs)


def _held_back(record: Record) -> bool:
    """Whether a Raspberry Pi was held back at one end of the launch, or a bit of what it ever was rose meanwhile."""
    before, after = _before_and_after(record, "throttled")
    if any((each or 0) & _HELD_BACK_NOW for each in (before, after)):
        return True
    return None not in (before, after) and bool(after & ~before)


def _before_and_after(record: Record, name: str) -> tuple[Any, Any]:
    """A fact of the machine's state, None where it is unknown."""
    states = (record.launch.state, record.launch.state_after)
    before, after = (None if state is UNSET else getattr(state, name) for state in states)
    return (None if before is UNSET else before, None if after is UNSET else after)


def _ranked_window(record: Record) -> WindowFacts | None:
    return record.referee.windows[-1] if record.referee else None


def _robbed(record: Record) -> bool:
    window = _ranked_window(record)
    stolen = _known(window.stolen_seconds) if window else None
    return window is not None and stolen is not None and stolen > _HIGH_STEAL * max(1.0, window.seconds)


def _preempted(record: Record) -> bool:
    window = _ranked_window(record)
    times = _known(window.preemptions) if window else None
    # An emulated launch has threads of the emulator's.
    if window is None or times is None or record.execution.emulated:
        return False
    return times > _MANY_PREEMPTIONS * max(1.0, window.seconds)


def _known(value: float | UnsetType | None) -> float | None:
    return None if value is None or value is UNSET else float(value)
