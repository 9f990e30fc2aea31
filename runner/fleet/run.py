"""Runs a plan on a fleet: submits its launches as arrays of jobs, and follows them. A plan left behind is adopted."""

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path

from runner.executors.base import Executor
from runner.fleet.follow import Follower, Lost, job_prefix
from runner.fleet.launches import task_of
from runner.fleet.spool import Spool, Submitted, spools
from runner.matrix import Platform, Slurm
from runner.planning.planned import Launch, Plan, room_of
from runner.records.record import Record
from runner.records.store import Store
from runner.referee.nonce import new_secret
from runner.running.bookkeeping import LedgerOfPlan, begin
from runner.running.occasion import Occasion
from runner.slurm import commands
from runner.slurm.job import Job, seconds_of, share_of
from runner.system.checkout import ROOT
from runner.system.signals import uninterrupted


@dataclass(frozen=True, kw_only=True)
class FleetSummary:
    """The records of a fleet, and the launches that gave none."""

    records: Sequence[Record]
    lost: Sequence[Lost]


@dataclass(frozen=True, kw_only=True)
class Array:
    """Launches of one room that follow one another in a plan, and are submitted together.

    ``waits`` is whether they need the outputs of the launches before them in the room: gates compare with these.
    """

    first: int
    launches: tuple[Launch, ...]
    waits: bool


def arrays_of(launches: Sequence[Launch], most: int) -> Iterator[Array]:
    """The arrays of a plan, each of at most so many launches: in each room its references, then all others."""
    numbered = list(enumerate(launches))
    for _, room in groupby(numbered, key=lambda each: room_of(each[1].first)):
        for is_reference, group in groupby(room, key=lambda each: _is_compared_with(each[1])):
            members = list(group)
            for start in range(0, len(members), most):
                part = members[start : start + most]
                yield Array(
                    first=part[0][0], launches=tuple(launch for _, launch in part), waits=not is_reference
                )


def _is_compared_with(launch: Launch) -> bool:
    return any(each.is_compared_with for each in launch.cells)


def split(plan: Plan) -> tuple[Plan, list[Plan]]:
    """The part of a plan that runs without Slurm, and a plan for each Slurm platform on which something runs."""
    parts = [
        _on(plan, platform)
        for platform in dict.fromkeys(launch.first.platform for launch in plan.launches)
        if platform.slurm is not None
    ]
    return replace(
        plan,
        cells=tuple(each for each in plan.cells if each.cell.platform.slurm is None),
        launches=tuple(each for each in plan.launches if each.first.platform.slurm is None),
    ), parts


def _on(plan: Plan, platform: Platform) -> Plan:
    return replace(
        plan,
        cells=tuple(each for each in plan.cells if each.cell.platform == platform),
        launches=tuple(each for each in plan.launches if each.first.platform == platform),
    )


def run_on_fleet(
    plan: Plan,
    executor: Executor,
    store: Store,
    *,
    matrix: Path,
    occasion: Occasion,
    say: Callable[[str], None],
) -> FleetSummary:
    """Run the launches of a plan, all of them of one Slurm platform.

    Raises:
        SlurmAway: jobs cannot be submitted.
    """
    store.require_writable()
    secret = new_secret()
    say(f"{len(plan.launches)} launches to submit to Slurm")
    book = begin(
        plan,
        ledger=store.ledger_path,
        executor=executor.name,
        images=(),
        secret=secret,
        occasion=occasion,
        say=say,
    )
    spool = Spool(store=store, plan=book.plan)
    submitted = Submitted(
        plan=book.plan,
        profile=plan.profile,
        matrix=str(matrix.resolve()),
        executor="local" if executor.name == "local" else "docker",
        tasks=tuple(map(task_of, plan.launches)),
    )
    with book.ending(secret):
        spool.write(submitted, secret)
        with spool.followed():
            follower = Follower(spool=spool, submitted=submitted, say=say)
            _finish(follower, lambda: _submit(plan, spool))
    return FleetSummary(records=follower.records, lost=follower.lost)


def adopt(store: Store, say: Callable[[str], None]) -> None:
    """Follow to their ends the plans that killed calls have left behind; their jobs went on.

    Raises:
        StoreError: a plan or an answer cannot be read.
    """
    for spool in spools(store):
        with spool.followed() as free:
            if not free:
                say(f"another call follows the Slurm jobs of plan {spool.plan}")
                continue
            submitted, secret = spool.read(), spool.secret()
            say(f"going on with the Slurm jobs of plan {spool.plan}, which a call left behind")
            ledger = LedgerOfPlan(path=store.ledger_path, plan=spool.plan)
            with ledger.ending(secret):
                _finish(Follower(spool=spool, submitted=submitted, say=say))


def _finish(follower: Follower, submit: Callable[[], None] = lambda: None) -> None:
    """Submit and follow. No job is left behind, unless this process is killed; nor is the directory."""
    try:
        submit()
        follower.follow()
    except BaseException:
        with uninterrupted():
            follower.cancel()
        raise
    finally:
        with uninterrupted():
            follower.spool.remove()


def _submit(plan: Plan, spool: Spool) -> None:
    jobs_of_room: dict[tuple[str, ...], list[str]] = {}
    for array in arrays_of(plan.launches, commands.largest_array()):
        first = array.launches[0]
        cell = first.first
        cpus, memory_bytes = share_of(cell.limits)
        references = jobs_of_room.setdefault(room_of(cell), [])
        with uninterrupted():
            number = commands.submit(
                Job(
                    name=f"{job_prefix(spool.plan)}{array.first}",
                    command=(
                        *(sys.executable, "-m", "runner.fleet.node", "launch"),
                        *(str(spool.store.root.resolve()), spool.plan, str(array.first)),
                    ),
                    where=cell.platform.slurm or Slurm(),
                    cpus=cpus,
                    memory_bytes=memory_bytes,
                    seconds=seconds_of(first.deadline_seconds),
                    directory=ROOT,
                    output=spool.logs.resolve() / "%x_%a.log",
                    count=len(array.launches),
                    after=tuple(references) if array.waits else (),
                )
            )
        if not array.waits:
            references.append(number)
