"""From records to plans. The ordinary run carries the plans out, in images that are given and not built."""

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from runner.executors.base import Executor, LaunchRequest, LaunchResult
from runner.executors.instructions import left_out_here
from runner.matrix import Implementation, Limits, Platform
from runner.matrix.images import CORE, ImageTarget
from runner.matrix.model import ByExecution
from runner.matrix.toolchain import Toolchain
from runner.planning.cells import Cell, content_key
from runner.planning.launches import launches_of
from runner.planning.planned import Decision, ImageKey, KeyedCell, Launch, Plan, PlannedCell
from runner.planning.recipe import Work
from runner.records.execution import Execution
from runner.records.image import ImageFacts
from runner.records.key import newest_key_version
from runner.records.record import Record, content_hash
from runner.records.store import Store, newest_by_key
from runner.referee.nonce import Handed
from runner.running.progress import Progress
from runner.running.run import run
from runner.system import machine
from runner.system.cpus import CpuSet
from runner.system.errors import ImageNotFound, PinMismatch
from runner.verify.images import StandIn


@dataclass(frozen=True, kw_only=True)
class Job:
    """A record to run again.

    Attributes:
        record: the record.
        work: its work.
        limits: the limits that it is run under, which a record may not choose.
        deadlines: the seconds that its launch may take.
        image: what replaces its image.
        core: what replaces the image that made its inputs and ran its reference.
    """

    record: Record
    work: Work
    limits: Limits
    deadlines: ByExecution[float]
    image: StandIn
    core: StandIn

    @property
    def cell(self) -> Cell:
        """The record's cell on the image that is run. Its architecture differs where the user gave such an image."""
        return self._on(self.work.cell)

    @property
    def reference(self) -> Cell:
        """The cell that its gate compares with."""
        return self._on(self.work.reference)

    def case_of(self, jobs: Iterable["Job"]) -> list["Job"]:
        """Those of the jobs that are of this one's case."""
        return [each for each in jobs if each.cell.case.name == self.cell.case.name]

    def _on(self, cell: Cell) -> Cell:
        platform = replace(cell.platform, architecture=self.image.facts.architecture)
        return replace(cell, platform=platform, limits=self.limits)


class OnGivenImages:
    """An executor that runs in existing images. All other calls go to the executor that it wraps."""

    def __init__(self, inner: Executor, images: Mapping[ImageKey, ImageFacts]) -> None:
        self._inner = inner
        self._images = images
        self.name = inner.name

    def execution(self, platform: Platform) -> Execution:
        """As the inner one says."""
        return self._inner.execution(platform)

    def machine(self, platform: Platform) -> dict[str, Any]:
        """As the inner one says."""
        return self._inner.machine(platform)

    def state(self, platform: Platform) -> dict[str, Any]:
        """As the inner one says."""
        return self._inner.state(platform)

    def away(self, platform: Platform) -> str | None:
        """As the inner one says."""
        return self._inner.away(platform)

    def left_out(self, implementation: Implementation, platform: Platform) -> str | None:
        """As the inner one says."""
        return self._inner.left_out(implementation, platform)

    def cpus(self, limits: Limits, platform: Platform) -> CpuSet:
        """As the inner one says."""
        return self._inner.cpus(limits, platform)

    def identify(self, target: ImageTarget, toolchain: Toolchain, platform: Platform) -> str:
        """The execution hash of the image that was given."""
        return self._image(target, toolchain, platform).execution_hash

    def must_build(self, target: ImageTarget, toolchain: Toolchain, platform: Platform) -> bool:
        """Nothing is built."""
        del target, toolchain, platform
        return False

    def prepare(
        self, target: ImageTarget, toolchain: Toolchain, platform: Platform, say: Callable[[str], None]
    ) -> ImageFacts:
        """The image that was given; nothing is built."""
        del say
        return self._image(target, toolchain, platform)

    def sweep(self, say: Callable[[str], None]) -> None:
        """As the inner one does."""
        self._inner.sweep(say)

    def launch(self, request: LaunchRequest) -> LaunchResult:
        """As the inner one does."""
        return self._inner.launch(request)

    def _image(self, target: ImageTarget, toolchain: Toolchain, platform: Platform) -> ImageFacts:
        found = self._images.get((target.name, toolchain.name, platform.name))
        if found is None:
            raise ImageNotFound(
                what=f"no image was found for {target.name} on {platform.name}",
                why="no record names one",
                fix="give it with --image",
            )
        return found


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """The result of running again.

    Attributes:
        records: the new record for each old one, by the old one's identifier.
        left_out: why there is no new record, by the same key.
        launches: how many processes were started.
    """

    records: Mapping[str, Record]
    left_out: Mapping[str, str]
    launches: int


def run_again(jobs: Sequence[Job], executor: Executor, store: Store, progress: Progress) -> Outcome:
    """Run the jobs' cells, and the references that their gates need, into ``store``.

    Raises:
        PinMismatch: an image does not hold the versions that the records say.
        ImageNotFound, DockerUnavailable, StoreError: nothing more can be run.
    """
    left_out: dict[str, str] = {}
    records: dict[str, Record] = {}
    launches, runnable = 0, []
    known = store.records()
    for job in jobs:
        cell = job.cell
        why = (
            left_out_here(cell.limits, cell.platform, executor.machine(cell.platform)["simd"])
            or executor.cpus(cell.limits, cell.platform).too_few(cell.limits.cpus)
            or executor.left_out(cell.implementation, cell.platform)
        )
        if why is None:
            runnable.append(job)
        else:
            left_out[job.record.identifier] = f"cannot be run here: {why}"
    for bundle in _bundles(runnable):
        given = OnGivenImages(executor, bundle.images)
        plan, keys = _plan(bundle, given, known)
        try:
            summary = run(plan, given, store, progress)
        except PinMismatch as error:
            raise PinMismatch(
                what="the image does not hold what the records say",
                why=error.why,
                fix="give the image that they were made with: --image",
            ) from error
        launches += len(plan.launches)
        known = [*known, *summary.records]
        found = newest_by_key(summary.records)
        for job in bundle.jobs:
            records[job.record.identifier] = found[keys[job.record.identifier]]
    return Outcome(records=records, left_out=left_out, launches=launches)


@dataclass
class _Bundle:
    """The jobs of one plan: of one profile, with one image for each target, toolchain and platform."""

    profile: str
    images: dict[ImageKey, ImageFacts] = field(default_factory=dict)
    rooms: dict[Hashable, list[Job]] = field(default_factory=dict)

    @property
    def jobs(self) -> list[Job]:
        return [job for room in self.rooms.values() for job in room]

    def takes(self, job: Job) -> bool:
        """Whether this batch has the job's images under their names, and the job's nonce for its case."""
        company = [each for each in job.case_of(self.rooms.get(_room(job), ())) if each.record.referee]
        return (
            job.record.profile == self.profile
            and all(self.images.get(key, facts) == facts for key, facts in _images_of(job).items())
            and all(_nonce(each) == _nonce(job) for each in company if job.record.referee)
        )

    def add(self, job: Job) -> None:
        self.images.update(_images_of(job))
        self.rooms.setdefault(_room(job), []).append(job)


def _bundles(jobs: Iterable[Job]) -> list[_Bundle]:
    bundles: list[_Bundle] = []
    for job in jobs:
        bundle = next((each for each in bundles if each.takes(job)), None)
        if bundle is None:
            bundle = _Bundle(profile=job.record.profile)
            bundles.append(bundle)
        bundle.add(job)
    return bundles


def _nonce(job: Job) -> str | None:
    return job.record.referee.nonce if job.record.referee else None


def _handed(jobs: Sequence[Job]) -> Handed | None:
    """What a referee has to draw again for these records of one case; None where none was refereed."""
    seen = [job.record.referee for job in jobs if job.record.referee]
    if not seen:
        return None
    return Handed(
        nonce=seen[0].nonce, repetitions=tuple(sorted({each for referee in seen for each in referee.asked}))
    )


def _images_of(job: Job) -> dict[ImageKey, ImageFacts]:
    cell = job.cell
    names = (cell.toolchain.name, cell.platform.name)
    # The core image comes last: a record of the core image names the same image twice.
    return {(cell.implementation.image.name, *names): job.image.facts, (CORE.name, *names): job.core.facts}


def _room(job: Job) -> str:
    """The facts that records must share so that one launch of the reference serves all their gates.

    Names of cells are not enough, because a store may hold records of several matrices and profiles.
    """
    work, cell = job.record.work.plain() if job.record.work else {}, job.record.cell
    return content_hash(
        {
            "work": {key: value for key, value in work.items() if key != "core"},
            "core": job.core.facts.config_digest,
            "names": [cell.benchmark, cell.toolchain, cell.platform, cell.limits],
            "architecture": job.cell.platform.architecture,
            # The parameters that a profile adds to the case's, which tell native sizes from emulated ones.
            "sizes": {
                key: value
                for key, value in job.record.parameters.items()
                if key not in job.work.cell.case.parameters
            },
        }
    )


def _plan(bundle: _Bundle, executor: Executor, records: Sequence[Record]) -> tuple[Plan, dict[str, str]]:
    """The plan, and for each job's record, by its identifier, the content key that it has here."""
    planned: list[PlannedCell] = []
    launches: list[Launch] = []
    executions = {job.cell.platform.name: executor.execution(job.cell.platform) for job in bundle.jobs}
    keys: dict[str, str] = {}

    def keyed(cell: Cell) -> KeyedCell:
        key = content_key(
            cell,
            execution_hash=executor.identify(cell.implementation.image, cell.toolchain, cell.platform),
            execution=executions[cell.platform.name],
            executor=executor.name,
            machine=machine.fingerprint(executor.machine(cell.platform)),
        )
        return KeyedCell(cell=cell, key=key, key_version=newest_key_version())

    def plan_cell(cell: Cell, reference: Cell, why: str, handed: Handed | None) -> PlannedCell:
        own = keyed(cell)
        return PlannedCell(
            cell=own.cell,
            key=own.key,
            key_version=own.key_version,
            reference=keyed(reference),
            decision=Decision.RUN,
            why=why,
            handed=handed,
        )

    for jobs in bundle.rooms.values():
        room: dict[str, PlannedCell] = {}
        order = list(jobs[0].work.cell.benchmark.cases)
        for job in sorted(jobs, key=lambda each: order.index(each.cell.case.name)):
            # The reference comes first, at the seed that the gate compared with.
            needed = plan_cell(
                job.reference, job.reference, "gates compare with it", _handed(job.case_of(jobs))
            )
            room.setdefault(needed.key, needed)
        for job in sorted(jobs, key=lambda each: (each.record.seed, order.index(each.cell.case.name))):
            own = plan_cell(job.cell, job.reference, f"record {job.record.identifier}", _handed([job]))
            room.setdefault(own.key, own)
            keys[job.record.identifier] = own.key
        planned += room.values()
        launches += launches_of(
            list(room.values()),
            executions,
            lambda cell, jobs=jobs: jobs[0].deadlines.of(  # type: ignore[misc]  # mypy infers no default
                emulated=executions[cell.platform.name].emulated
            ),
        )
    return Plan(
        profile=bundle.profile,
        cells=tuple(planned),
        launches=tuple(launches),
        executions=executions,
        machines={job.cell.platform.name: executor.machine(job.cell.platform) for job in bundle.jobs},
        execution_hashes={key: facts.execution_hash for key, facts in bundle.images.items()},
        records=tuple(records),
    ), keys
