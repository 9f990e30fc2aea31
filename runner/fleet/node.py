"""What a job of a fleet runs on its node: one launch of a submitted plan, or the question what the node is.

``python -m runner.fleet.node launch RESULTS PLAN FIRST`` is called by Slurm, which numbers the tasks of an array.
``python -m runner.fleet.node describe FILE EXECUTOR MATRIX PLATFORM`` writes what a plan has to know of a node.
"""

import os
import sys
from pathlib import Path

import msgspec

from runner.executors.base import Executor
from runner.executors.fleet import NodeFacts
from runner.executors.local import LocalExecutor
from runner.fleet.launches import plan_of
from runner.fleet.spool import Answer, Spool, refusal, texts
from runner.matrix import Matrix, load_matrix
from runner.planning.planned import Launch
from runner.records.record import Record
from runner.records.store import Store
from runner.running.bookkeeping import Book, LaunchBook
from runner.running.launch import Surroundings, run_launch
from runner.running.preparation import prepare
from runner.running.progress import Progress
from runner.system.checkout import ROOT
from runner.system.cpus import usable_cpus
from runner.system.errors import ForgeBenchError, HostNotReady, Interrupted
from runner.system.files import write_atomically
from runner.system.signals import keep_statuses_of_children, stop_on_signals
from runner.system.space import typed_refusals
from runner.system.terminal import complain


class _Answering:
    """Answers for a launch on its node, as soon as it has ended."""

    def __init__(self, spool: Spool, number: int) -> None:
        self._spool = spool
        self._number = number

    def keep(self, launch: Launch, book: LaunchBook, void: str | None) -> None:
        """Answer. An error is answered where it is told, and Slurm knows of an interruption."""
        del launch
        if void is None:
            self.answer(launch=book.name, records=texts(book.records))

    def answer(
        self,
        *,
        launch: str | None = None,
        records: tuple[str, ...] = (),
        refused: tuple[str, str] | None = None,
    ) -> None:
        """Answer for the launch."""
        answer = Answer(
            launch=launch,
            node=os.environ["SLURMD_NODENAME"],
            restarts=int(os.environ.get("SLURM_RESTART_COUNT", "0")),
            records=records,
            refused=refused,
        )
        self._spool.answer(self._number, answer)


def main(arguments: list[str]) -> int:
    """Do as the job says. A launch that was answered for ends well, whatever the answer is."""
    stop_on_signals()
    keep_statuses_of_children()
    try:
        if arguments[0] == "describe":
            _describe(*arguments[1:])
        else:
            _launch(*arguments[1:])
    except KeyboardInterrupt:
        return Interrupted.exit_code
    except ForgeBenchError as error:
        complain(f"forge-bench: {error}")
        return error.exit_code
    return 0


def _launch(results: str, plan: str, first: str) -> None:
    spool = Spool(store=Store(Path(results)), plan=plan)
    number = int(first) + int(os.environ["SLURM_ARRAY_TASK_ID"])
    answering = _Answering(spool, number)
    try:
        with typed_refusals():
            _run(spool, number, answering)
    except ForgeBenchError as error:
        complain(f"forge-bench: {error}")
        answering.answer(refused=refusal(error))


def _run(spool: Spool, number: int, answering: _Answering) -> None:
    _require_bound()
    submitted, store, progress = spool.read(), spool.store, Progress()
    matrix = load_matrix(Path(submitted.matrix))
    executor = _executor(submitted.executor, matrix, store)
    plan = plan_of(submitted.tasks[number], submitted.profile, matrix, executor)
    executor.sweep(progress.say)
    around = Surroundings(
        profile=plan.profile,
        images=prepare(plan, executor, store, {}, progress.say),
        executor=executor,
        store=store,
        # The call that submitted the plan stores them: it alone writes records and ledger.
        add=_as_it_is,
        accept=lambda _record: None,
        progress=progress,
        secret=spool.secret(),
        book=Book(keep=answering.keep),
    )
    progress.begin(plan.launches, ())
    run_launch(plan.launches[0], around)


def _describe(file: str, executor: str, matrix: str, platform: str) -> None:
    loaded = load_matrix(Path(matrix))
    where = loaded.platforms[platform]
    found = _executor(executor, loaded, Store(Path(file).parent))
    facts = NodeFacts(machine=found.machine(where), execution=found.execution(where))
    write_atomically(Path(file), msgspec.json.encode(facts).decode())


def _executor(name: str, matrix: Matrix, store: Store) -> Executor:
    if name == "local":
        return LocalExecutor(ROOT)
    # Imported here: nodes without Docker may lack its library.
    from runner.executors.docker import DockerExecutor  # noqa: PLC0415
    from runner.executors.own_site import OwnSite  # noqa: PLC0415

    site = OwnSite(
        ROOT,
        store.root / "logs",
        registry=matrix.registry,
        short_names_of=next(iter(matrix.toolchains)),
    )
    return DockerExecutor(site, ROOT)


def _require_bound() -> None:
    """See that this job is held to the CPUs that it was given: the launch takes its own out of these.

    Raises:
        HostNotReady: it may run on CPUs of other jobs.
    """
    given, usable = int(os.environ["SLURM_CPUS_ON_NODE"]), len(usable_cpus(os.cpu_count() or 1))
    if usable > given:
        raise HostNotReady(
            what="the CPUs of this job are not its own",
            why=f"Slurm gave it {given} CPUs, and it may run on {usable}",
            fix="have jobs bound to their CPUs: TaskPlugin=task/affinity or task/cgroup in slurm.conf",
        )


def _as_it_is(record: Record) -> Record:
    return record


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
