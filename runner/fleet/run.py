"""Runs a plan on a fleet: submits its launches as arrays of jobs, and follows them. A plan left behind is adopted."""

import contextlib
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path

import msgspec

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
from runner.running.launch import Accept
from runner.running.occasion import Occasion
from runner.running.run import More
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


def arrays_of(launches: Sequence[Launch], most: int, *, first: int = 0) -> Iterator[Array]:
    """The arrays of launches, each of at most so many: in each room its references, then all others.

    The launches are numbered from ``first`` on.
    """
    numbered = list(enumerate(launches, start=first))
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
    accept: Accept,
    more: More,
    strict: bool,
) -> FleetSummary:
    """Run the launches of a plan, all of them of one Slurm platform.

    ``accept`` and ``more`` are those of a run (runner/running/run.py). ``strict`` is whether an adopted plan is held to
    what ``accept`` refuses.

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
        strict=strict,
    )
    with book.ending(secret):
        spool.write(submitted, secret)
        with spool.followed():
            follower = Follower(spool=spool, submitted=submitted, say=say, accept=accept)
            with _ended(follower):
                _submit(plan.launches, spool)
                follower.follow()
                while launches := more(follower.records):
                    known = follower.submitted.tasks
                    follower.add(msgspec.structs.replace(submitted, tasks=(*known, *map(task_of, launches))))
                    spool.rewrite(follower.submitted)
                    _submit(launches, spool, first=len(known))
                    follower.follow()
    return FleetSummary(records=follower.records, lost=follower.lost)


def adopt(store: Store, say: Callable[[str], None], strictly: Accept) -> None:
    """Follow to their ends the plans that killed calls have left behind; their jobs went on.

    ``strictly`` refuses the records of disturbed launches, where the plan is held to that.

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
            accept = strictly if submitted.strict else _any
            follower = Follower(spool=spool, submitted=submitted, say=say, accept=accept)
            with ledger.ending(secret), _ended(follower):
                follower.follow()


def _any(record: Record) -> None:
    del record


@contextlib.contextmanager
def _ended(follower: Follower) -> Iterator[None]:
    """Around what submits and follows: no job is left behind, unless this process is killed; nor is the directory."""
    try:
        yield
    except BaseException:
        with uninterrupted():
            follower.cancel()
        raise
    finally:
        with uninterrupted():
            follower.spool.remove()


def _submit(launches: Sequence[Launch], spool: Spool, *, first: int = 0) -> None:
    """Submit launches of a plan, which are numbered from ``first`` on."""
    jobs_of_room: dict[tuple[str, ...], list[str]] = {}
    for array in arrays_of(launches, commands.largest_array(), first=first):
        leading = array.launches[0]
        cell = leading.first
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
                    seconds=seconds_of(leading.deadline_seconds),
                    directory=ROOT,
                    output=spool.logs.resolve() / "%x_%a.log",
                    count=len(array.launches),
                    after=tuple(references) if array.waits else (),
                )
            )
        if not array.waits:
            references.append(number)
