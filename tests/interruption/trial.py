"""One trial: a run that is hit, a look at what is left, the next call, and the comparison."""

import contextlib
import random
import shutil
import time
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path

from runner.daemon.endpoint import current_endpoint
from runner.records.record import Record
from runner.records.store import Store
from runner.system.owner import Owner
from tests.interruption.audit import (
    DaemonAudit,
    Reader,
    Whole,
    check_processes,
    check_records_once,
    check_temporary,
    check_whole,
    check_words,
)
from tests.interruption.calls import Call, Surroundings
from tests.interruption.faults import (
    FAULTS,
    KEEPER_KILLED,
    LAUNCH_KILLED,
    NOTHING_RAN,
    Fault,
    Stage,
    small_disk,
)
from tests.interruption.matrix import write_matrix
from tests.interruption.moments import Timeline, draw, wait_for
from tests.interruption.relay import Relay

TOO_LATE = "too late"
_ATTEMPTS = 4
_GIVEN_PROBES = 0.8
_FAILURES = {LAUNCH_KILLED: {"signal"}, KEEPER_KILLED: {"lost", "not-started"}}


@dataclass(frozen=True, kw_only=True)
class Trial:
    """Which fault hits which executor; everything else follows from the seed."""

    number: int
    seed: int
    kind: str
    executor: str
    attempt: int = 0

    @property
    def chance(self) -> random.Random:
        """The trial's own source of chance, the same whenever it is run again; another one for each attempt."""
        words = [self.seed, self.number, *([self.attempt] if self.attempt else [])]
        return random.Random(" ".join(map(str, words)))  # noqa: S311 (moments, not secrets)


@dataclass(kw_only=True)
class Outcome:
    """What became of a trial."""

    trial: Trial
    moment: str = ""
    struck: str = ""
    code: int | None = None
    stored: int = 0
    seconds: float = 0.0
    violations: list[str] = field(default_factory=list)

    @property
    def missed(self) -> bool:
        """Whether nothing struck: what was tried shows nothing."""
        return self.struck in ("", TOO_LATE, NOTHING_RAN)


@dataclass(frozen=True, kw_only=True)
class Measure:
    """What uninterrupted runs of one executor do: how they go, and what they leave."""

    timeline: Timeline
    whole: Whole
    probes: Path


class Ground:
    """Where trials take place: a directory, the matrices, the daemon, and the measure of either executor."""

    def __init__(self, directory: Path, executors: Iterable[str], *, alone: bool) -> None:
        self._directory = directory
        self._matrices = {executor: write_matrix(executor, directory) for executor in executors}
        self.daemon = DaemonAudit(alone=alone) if "docker" in self._matrices else None
        self.measures = {executor: self._measure(executor) for executor in self._matrices}

    def run(self, trial: Trial) -> Outcome:
        """Run one trial. A machine that is busy lets its moment pass now and then: another is drawn, a few times."""
        for attempt in range(_ATTEMPTS):
            outcome = self._run(replace(trial, attempt=attempt))
            if outcome.violations or not outcome.missed:
                break
        return outcome

    def _run(self, trial: Trial) -> Outcome:
        """Run it once; its directory is removed again unless something was wrong."""
        started = time.monotonic()
        directory = self._directory / f"trial-{trial.number}"
        outcome = Outcome(trial=trial)
        if trial.kind == "two-runners":
            self._two_runners(trial, directory, outcome)
        else:
            self._one_runner(trial, directory, outcome)
        outcome.seconds = time.monotonic() - started
        if not outcome.violations:
            shutil.rmtree(directory, ignore_errors=True)
        return outcome

    def _one_runner(self, trial: Trial, directory: Path, outcome: Outcome) -> None:
        fault, chance, measure = FAULTS[trial.kind], trial.chance, self.measures[trial.executor]
        with contextlib.ExitStack() as around:
            disk = around.enter_context(small_disk(directory / "disk")) if trial.kind == "full-disk" else None
            results = (disk.path if disk else directory) / "results"
            # On a full disk now and then the temporary directory is on it too.
            temporary = (disk.path if disk and chance.random() < 0.5 else directory) / "tmp"
            temporary.mkdir(parents=True)
            _give_probes(measure, results, chance)
            relay = None
            if trial.kind == "cut":
                relay = Relay(directory / "relay.sock", _upstream())
                around.callback(relay.close)
            plain = Surroundings(
                matrix=self._matrices[trial.executor],
                executor=trial.executor,
                results=results,
                temporary=temporary,
            )
            reader = Reader(results)
            hit = Call(_through(plain, relay))
            moment = draw(chance, measure.timeline)
            outcome.moment = str(moment)
            if wait_for(moment, hit, results):
                outcome.struck = fault.strike(
                    Stage(call=hit, chance=chance, daemon=self._daemon(trial), relay=relay, disk=disk)
                )
            else:
                outcome.struck = TOO_LATE
            outcome.code = hit.wait()
            reader.stop()
            outcome.violations += [
                *reader.violations,
                *check_words(hit.text),
                *_check_code(fault, outcome.code, hit),
                *_check_failures(Store(results).records(), outcome.struck),
                *(self._left(trial, [hit.owner]) if fault.tidies_up else ()),
                *(check_temporary(temporary) if fault.tidies_up else ()),
            ]
            if disk is not None:
                disk.empty()
            self._finish(trial, plain, [hit.owner], outcome)

    def _two_runners(self, trial: Trial, directory: Path, outcome: Outcome) -> None:
        """A long runner must not notice a second one: beside it, in its directory or another, killed or not."""
        chance, measure = trial.chance, self.measures[trial.executor]
        same = chance.random() < 0.5
        killed = chance.random() < 0.6
        first = Surroundings(
            matrix=self._matrices[trial.executor],
            executor=trial.executor,
            results=directory / "results",
            temporary=directory / "tmp",
        )
        second = first if same else _elsewhere(first, directory)
        for each in dict.fromkeys((first.results, second.results)):
            _give_probes(measure, each, chance)
        reader = Reader(first.results)
        undisturbed = Call(first)
        moment = draw(chance, measure.timeline)
        outcome.moment = str(moment)
        wait_for(moment, undisturbed, first.results)
        other = Call(second)
        outcome.struck = f"second in {'the same' if same else 'another'} directory"
        owners = [undisturbed.owner, other.owner]
        if killed and wait_for(draw(chance, measure.timeline), other, second.results):
            other.process.kill()
            outcome.struck += ", killed; a third sweeps"
            third = Call(second)
            owners.append(third.owner)
            outcome.violations += _check_code(FAULTS[trial.kind], third.wait(), third)
        elif killed:
            other.wait()
        else:
            outcome.violations += _check_code(FAULTS[trial.kind], other.wait(), other)
        outcome.code = undisturbed.wait()
        reader.stop()
        outcome.violations += [
            *reader.violations,
            *check_words(undisturbed.text + other.text),
            *_check_code(FAULTS[trial.kind], outcome.code, undisturbed),
            *(
                f"a cell of {each.implementation} failed"
                for each in Store(first.results).records()
                if each.failed
            ),
        ]
        if not same:
            self._finish(trial, second, owners, outcome)
        self._finish(trial, first, owners, outcome)

    def _finish(self, trial: Trial, around: Surroundings, owners: list[Owner], outcome: Outcome) -> None:
        """The next call goes on where the last one stopped, and leaves what an uninterrupted run leaves."""
        whole = self.measures[trial.executor].whole
        before = Store(around.results).records()
        outcome.stored = len({record.key for record in before if not record.failed})
        reader = Reader(around.results)
        call = Call(around)
        code = call.wait()
        reader.stop()
        outcome.violations += [*reader.violations, *check_words(call.text)]
        if code != 0:
            outcome.violations.append(f"the next call ended with {code}: {call.text[-800:]}")
            return
        outcome.violations += [
            *check_whole(around.results, whole),
            *check_records_once(before, Store(around.results).records(), whole),
            *check_temporary(around.temporary),
            *self._left(trial, [*owners, call.owner]),
        ]

    def _left(self, trial: Trial, owners: list[Owner]) -> Iterable[str]:
        yield from check_processes(owners)
        daemon = self._daemon(trial)
        if daemon is not None:
            yield from daemon.check(owners)

    def _daemon(self, trial: Trial) -> DaemonAudit | None:
        return self.daemon if trial.executor == "docker" else None

    def _measure(self, executor: str) -> Measure:
        """From two runs: the first may have to build the image, and asks it for its versions."""
        probes = self._directory / f"first-{executor}" / "results" / "probes"
        for name in ("first", "measured"):
            directory = self._directory / f"{name}-{executor}"
            if probes.is_dir():
                shutil.copytree(probes, directory / "results" / "probes")
            call = Call(
                Surroundings(
                    matrix=self._matrices[executor],
                    executor=executor,
                    results=directory / "results",
                    temporary=directory / "tmp",
                )
            )
            code = call.wait()
            duration = call.seconds
            if code != 0:
                raise RuntimeError(f"an uninterrupted run ended with {code}:\n{call.text}")
        results = directory / "results"
        whole = Whole.of(results)
        return Measure(timeline=Timeline.of(call, duration, len(whole.keys)), whole=whole, probes=probes)


def _give_probes(measure: Measure, results: Path, chance: random.Random) -> None:
    """An image's first launch imports PyTorch; most trials are spared that, and begin with what it printed."""
    if measure.probes.is_dir() and chance.random() < _GIVEN_PROBES:
        shutil.copytree(measure.probes, results / "probes")


def _check_failures(records: Iterable[Record], struck: str) -> Iterable[str]:
    """A cell that a fault brought down says how; where it was the reference, the others say that."""
    for record in records:
        if record.failure is not None:
            kind = record.failure.kind
            # No other fault is an implementation's, and so none may fail a cell.
            if kind not in {*_FAILURES.get(struck, ()), "no-reference"}:
                yield f"a cell failed with {kind}: {record.failure.detail}"


def _check_code(fault: Fault, code: int | None, call: Call) -> Iterable[str]:
    if code is None:
        yield f"it hung: {call.text[-800:]}"
    elif code not in fault.codes:
        yield f"exit code {code}: {call.text[-800:]}"


def _through(around: Surroundings, relay: Relay | None) -> Surroundings:
    if relay is None:
        return around
    return Surroundings(
        matrix=around.matrix,
        executor=around.executor,
        results=around.results,
        temporary=around.temporary,
        docker_host=f"unix://{relay.path}",
    )


def _elsewhere(around: Surroundings, directory: Path) -> Surroundings:
    return Surroundings(
        matrix=around.matrix,
        executor=around.executor,
        results=directory / "other-results",
        temporary=directory / "other-tmp",
    )


def _upstream() -> Path:
    socket = current_endpoint().socket
    if socket is None:
        raise RuntimeError("the connection to a daemon that is reached over the network cannot be cut")
    return socket
