"""``forge-bench verify``: runs stored cells again on their images, and says which figures come out the same."""

import argparse
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from runner.bundles.read import opened_bundle
from runner.cli.commands.base import Command, Context
from runner.cli.words.syntax import a_path, minutes
from runner.planning.estimates import duration
from runner.planning.recipe import Work, lacks, load_work
from runner.records.image import ImageFacts
from runner.records.record import Record
from runner.records.source import address_of, record_beginning, store_at
from runner.records.store import Store
from runner.system import machine
from runner.system.errors import (
    EmulationMissing,
    NothingDecided,
    OtherWork,
    UsageError,
    VerificationDiffers,
    WrongImage,
)
from runner.system.paths import resolved
from runner.system.scratch import scratch_directory
from runner.verify.again import Job, Outcome, run_again
from runner.verify.binding import allowed, deadlines, differences
from runner.verify.findings import Pair, Verdict
from runner.verify.images import Likeness, StandIn, find_images, own_image, refuse_images
from runner.verify.read import read_records
from runner.verify.repeats import narrowed
from runner.verify.report import Report, as_json, as_text, first_difference, first_undecided

_NOTHING = Outcome(records={}, left_out={}, launches=0)


def _run(context: Context) -> int:
    own = context.own
    if (own.path is None) == (own.bundle is None):
        raise UsageError(
            what="verify needs records, or a bundle"
            if own.path is None
            else "verify takes records or a bundle",
            why="it is called with both" if own.path else "neither a path nor --bundle names any",
            fix="name a record, a directory or a publication; or give --bundle FILE alone",
        )
    if own.bundle is None:
        return _verify(_named(str(own.path), context), context)
    with opened_bundle(own.bundle) as results:
        context.progress.say(f"{own.bundle} is as it was written")
        return _verify(_read(results, context), context)


def _verify(found: Sequence[Record], context: Context) -> int:
    own, say = context.own, context.progress.say
    records = _selected(found, context)
    say(f"{len(records)} records are as they were sealed")
    works = {record.identifier: load_work(record) for record in records if lacks(record) is None}
    foreign = _foreign(records, works, context)
    _require_trust(foreign, context)
    stand_ins = _images(works.values(), context) if works else {}
    jobs = [
        _job(record, works[record.identifier], stand_ins, context)
        for record in records
        if record.identifier in works
    ]
    launches = {record.launch.id: record for record in records if record.identifier in works}
    if launches:
        seconds = sum(record.launch.wall_seconds for record in launches.values())
        count = f"their {len(launches)} launches" if len(launches) > 1 else "their launch"
        say(f"{count} took {duration(seconds)} when the records were made")
    with _store(own.keep) as store:
        outcome = run_again(jobs, context.executor, store, context.progress) if jobs else _NOTHING
        narrow = narrowed(
            list(_pairs(records, works, stand_ins, outcome)),
            jobs,
            minutes=own.narrow,
            run=lambda chosen: run_again(chosen, context.executor, store, context.progress),
            say=say,
        )
    report = Report(
        judged=narrow.judged,
        foreign=foreign,
        stand_ins=tuple(stand_ins.values()),
        launches=outcome.launches + narrow.launches,
        machine=str(_machine_of(jobs, context)["cpu_model"] or "an unknown CPU"),
    )
    print(as_json(report) if own.json else as_text(report))
    differing = report.counts[Verdict.DIFFERS]
    if differing:
        raise VerificationDiffers(
            what=f"{differing} of {len(report.deciding)} figures differ from the records",
            why=first_difference(report),
            fix="read the table; --json has every figure, and --keep DIR keeps the new records and their logs",
        )
    if foreign:
        raise _other_work(foreign, len(records), "the table says how the others came out")
    if not report.decided:
        raise NothingDecided(
            what="nothing differs, and nothing was decided about the times that rank",
            why=first_undecided(report),
            fix="verify five seeds of a cell or more, natively, on the model of machine that the records name; "
            "--narrow MINUTES starts more processes where an interval is too wide",
        )
    return 0


def _machine_of(jobs: Sequence[Job], context: Context) -> Mapping[str, Any]:
    """The machine that the jobs ran on; this one where nothing ran."""
    return context.executor.machine(jobs[0].cell.platform) if jobs else machine.describe()


def _foreign(
    records: Iterable[Record], works: dict[str, Work], context: Context
) -> dict[str, tuple[str, ...]]:
    """How each record that is not the matrix's work differs from it, by the record's identifier."""
    found = {
        record.identifier: differences(
            works[record.identifier].cell,
            context.any_matrix,
            profile=record.profile,
            emulated=record.execution.emulated,
        )
        for record in records
        if record.identifier in works
    }
    return {identifier: why for identifier, why in found.items() if why}


def _require_trust(foreign: dict[str, tuple[str, ...]], context: Context) -> None:
    """Start no command on a host that the matrix does not have, unless the user trusts it.

    Raises:
        OtherWork: nothing was started.
    """
    on_host = context.executor_name == "local" and not context.inside_image
    if on_host and foreign and not context.own.trust_commands:
        raise _other_work(
            foreign,
            None,
            "verify them in containers (--executor docker), or --trust-commands starts their commands as you",
        )


def _other_work(foreign: dict[str, tuple[str, ...]], total: int | None, more: str) -> OtherWork:
    of_all = "" if total is None else f" of {total}"
    return OtherWork(
        what=f"{len(foreign)}{of_all} records are not the work of this matrix",
        why=next(iter(foreign.values()))[0],
        fix=f"give the matrix that they were made with (--matrix FILE); {more}",
    )


def _named(text: str, context: Context) -> Sequence[Record]:
    """The records at a path or in a publication; or the one whose identifier begins with the text after ``#``."""
    address = address_of(text, context.published)
    records = _read(address.path, context)
    return records if address.prefix is None else (record_beginning(records, address.prefix),)


def _read(path: Path, context: Context) -> Sequence[Record]:
    return read_records(path, opened=context.publication_at(path))


def _selected(records: Sequence[Record], context: Context) -> tuple[Record, ...]:
    """The records that --only, --arch, --seeds and --limits select.

    Raises:
        UsageError: they select no record.
    """
    found = context.chosen(records)
    if not found:
        raise UsageError(
            what="no record is selected",
            why=f"none of the {len(records)} records has the names, architecture and seed that were asked for",
            fix="give fewer of --only, --arch, --seeds and --limits",
        )
    return found


def _images(works: Iterable[Work], context: Context) -> dict[ImageFacts, StandIn]:
    works = list(works)
    own, say = context.own, context.progress.say
    # Python's argparse makes an empty list of the word "--".
    asked = [name or "--" for name in own.image]
    if context.executor_name == "local":
        refuse_images(asked)
        return own_image(works, context.executor, any_image=own.any_image, say=say)
    if own.bundle is not None:
        # A bundle is an archive of its images too.
        asked.insert(0, str(own.bundle))
    recorded = [facts for work in works for facts in (work.core, work.image)]
    stand_ins = find_images(recorded, asked=asked, any_image=own.any_image, say=say)
    _require_emulation({stand_in.facts.architecture for stand_in in stand_ins.values()}, works[0])
    return stand_ins


def _require_emulation(architectures: set[str], work: Work) -> None:
    """Check that foreign programs run here. Nothing is built, so verify needs nothing else of the host.

    Raises:
        EmulationMissing: with the exact commands.
    """
    from runner.host.setup import lacking, not_ready  # noqa: PLC0415 (a host's business: no image needs it)

    if architectures - {machine.architecture()}:
        needs = lacking(sorted(architectures), work.cell.toolchain)
        missing = [need for need in needs if need.error is EmulationMissing]
        if missing:
            raise not_ready(missing)


def _job(record: Record, work: Work, stand_ins: dict[ImageFacts, StandIn], context: Context) -> Job:
    job = Job(
        record=record,
        work=work,
        limits=allowed(work.cell.limits, context.any_matrix),
        deadlines=deadlines(record.profile, context.any_matrix),
        image=stand_ins[work.image],
        core=stand_ins[work.core],
    )
    if job.image.facts.architecture != job.core.facts.architecture:
        raise WrongImage(
            what=f"record {record.identifier} needs two images of one architecture",
            why=f"what was found is {job.image.facts.architecture} and {job.core.facts.architecture}",
            fix="give both with --image, which may be repeated",
        )
    return job


def _pairs(
    records: Iterable[Record],
    works: dict[str, Work],
    stand_ins: dict[ImageFacts, StandIn],
    outcome: Outcome,
) -> Iterator[Pair]:
    for record in records:
        work = works.get(record.identifier)
        yield Pair(
            old=record,
            new=outcome.records.get(record.identifier),
            why_not=outcome.left_out.get(record.identifier) or lacks(record),
            likeness=Likeness.OTHER if work is None else stand_ins[work.image].likeness,
        )


@contextmanager
def _store(keep: Path | None) -> Iterator[Store]:
    """The folder for the new records: the user's, or a temporary one."""
    if keep is not None:
        yield store_at(resolved(keep))
        return
    with scratch_directory("verify") as directory:
        yield Store(directory)


def _add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "path",
        type=a_path,
        nargs="?",
        metavar="RECORD|DIRECTORY|PUBLICATION[#PREFIX]",
        help="a record's file, a directory of results, or a publication; with # only the record that begins so",
    )
    parser.add_argument(
        "--bundle",
        type=a_path,
        metavar="FILE",
        help="a file of the command bundle: its records and images, without registry and network",
    )
    parser.add_argument(
        "--image",
        action="append",
        default=[],
        metavar="DIGEST|FILE|REFERENCE",
        help="an image by config digest, a file of docker save, or a reference in a registry; repeat for several",
    )
    parser.add_argument(
        "--any-image", action="store_true", help="go on with an image that is not the record's"
    )
    parser.add_argument(
        "--trust-commands",
        action="store_true",
        help="with --executor local: start commands on this host that the matrix does not have",
    )
    parser.add_argument(
        "--narrow",
        type=minutes,
        default=0.0,
        metavar="MINUTES",
        help="start more processes of cells whose interval decides nothing, for at most MINUTES",
    )
    parser.add_argument("--keep", type=a_path, metavar="DIR", help="keep the new records and logs there")
    parser.add_argument("--json", action="store_true", help="print every finding as JSON")


COMMAND = Command(
    name="verify",
    summary="run stored cells again on their images and say which figures come out the same",
    takes=("--arch", "--only", "--seeds", "--limits", "--matrix", "--executor"),
    add_options=_add_options,
    examples=("verify 2026-11-26-gae-dqn --only dqn/rust", "verify --bundle 2026-11-26-gae-dqn.tar"),
    run=_run,
)
