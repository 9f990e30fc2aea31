"""``forge-bench verify``: run stored cells again on their images and say which figures come out the same."""

import argparse
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from runner.cli.commands.base import Command, Context
from runner.cli.words.syntax import a_path
from runner.planning.cells import Selection
from runner.planning.estimates import duration
from runner.planning.recipe import Work, lacks, load_work
from runner.records.image import ImageFacts
from runner.records.record import Record
from runner.records.store import Store
from runner.system import machine
from runner.system.errors import EmulationMissing, UsageError, VerificationDiffers, WrongImage
from runner.system.paths import resolved
from runner.system.scratch import scratch_directory
from runner.verify.again import Job, Outcome, run_again
from runner.verify.images import Likeness, Stand, find_images, own_image, refuse_images
from runner.verify.judge import Pair, Verdict, judge
from runner.verify.read import read_records
from runner.verify.report import Report, as_json, as_text, first_difference

_NOTHING = Outcome(records={}, left_out={}, launches=0)


def _run(context: Context) -> int:
    own, say = context.own, context.progress.say
    records = _selected(read_records(own.path), context)
    say(f"{len(records)} records are as they were sealed")
    works = {record.identifier: load_work(record) for record in records if lacks(record) is None}
    stands = _images(works.values(), context) if works else {}
    jobs = [
        _job(record, works[record.identifier], stands) for record in records if record.identifier in works
    ]
    launches = {record.data["launch"]["id"]: record for record in records if record.identifier in works}
    if launches:
        seconds = sum(record.data["launch"]["wall_seconds"] for record in launches.values())
        count = f"their {len(launches)} launches" if len(launches) > 1 else "their launch"
        say(f"{count} took {duration(seconds)} when the records were made")
    with _store(own.keep) as store:
        outcome = run_again(jobs, context.executor, store, context.progress) if jobs else _NOTHING
    report = Report(
        judged=judge(_pairs(records, works, stands, outcome)),
        stands=tuple(stands.values()),
        launches=outcome.launches,
        machine=str(
            (context.executor.machine() if jobs else machine.describe())["cpu_model"] or "an unknown CPU"
        ),
    )
    print(as_json(report) if own.json else as_text(report))
    differing = report.counts[Verdict.DIFFERS]
    if differing:
        raise VerificationDiffers(
            what=f"{differing} of {len(report.deciding)} figures differ from the records",
            why=first_difference(report),
            fix="read the table; --json has every figure, and --keep DIR keeps the new records and their logs",
        )
    return 0


def _selected(records: Sequence[Record], context: Context) -> tuple[Record, ...]:
    """Those that --only, --arch, --seeds and --limits leave.

    Raises:
        UsageError: none is left.
    """
    options = context.options
    selection = Selection(profile=options.profile, only=options.only)
    found = tuple(
        record
        for record in records
        if selection.takes(record.benchmark, record.implementation, record.case)
        and (not context.architectures or record.data["image"]["architecture"] in context.architectures)
        and (not options.seeds or record.seed in options.seeds)
        and (not options.limits or record.data["cell"]["limits"] in options.limits)
    )
    if not found:
        raise UsageError(
            what="no record is selected",
            why=f"none of the {len(records)} records has the names, architecture and seed that were asked for",
            fix="give fewer of --only, --arch, --seeds and --limits",
        )
    return found


def _images(works: Iterable[Work], context: Context) -> dict[ImageFacts, Stand]:
    works = list(works)
    own, say = context.own, context.progress.say
    # Python's argparse makes an empty list of the word "--".
    asked = [name or "--" for name in own.image]
    if context.executor.name == "local":
        refuse_images(asked)
        if not context.inside_image:
            say("the commands of these records run on this host, as you: only for records that you trust")
        return own_image(works, context.executor, any_image=own.any_image, say=say)
    recorded = [facts for work in works for facts in (work.core, work.image)]
    stands = find_images(recorded, asked=asked, any_image=own.any_image, say=say)
    _require_emulation({stand.facts.architecture for stand in stands.values()}, works[0])
    return stands


def _require_emulation(architectures: set[str], work: Work) -> None:
    """See that what is foreign runs here; nothing is built, so nothing else of a host is needed.

    Raises:
        EmulationMissing: with the exact commands.
    """
    from runner.host.setup import lacking, not_ready  # noqa: PLC0415 (a host's business: no image needs it)

    if architectures - {machine.architecture()}:
        needs = lacking(sorted(architectures), work.cell.toolchain)
        missing = [need for need in needs if need.error is EmulationMissing]
        if missing:
            raise not_ready(missing)


def _job(record: Record, work: Work, stands: dict[ImageFacts, Stand]) -> Job:
    job = Job(record=record, work=work, image=stands[work.image], core=stands[work.core])
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
    stands: dict[ImageFacts, Stand],
    outcome: Outcome,
) -> Iterator[Pair]:
    for record in records:
        work = works.get(record.identifier)
        yield Pair(
            old=record,
            new=outcome.records.get(record.identifier),
            why_not=outcome.left_out.get(record.identifier) or lacks(record),
            likeness=Likeness.OTHER if work is None else stands[work.image].likeness,
        )


@contextmanager
def _store(keep: Path | None) -> Iterator[Store]:
    """Where the new records go: a directory of the user's, or one that is gone afterwards."""
    if keep is not None:
        yield Store(resolved(keep))
        return
    with scratch_directory("verify") as directory:
        yield Store(directory)


def _add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "path",
        type=a_path,
        metavar="RECORD|DIRECTORY",
        help="a record's file, or a directory: a publication, or results",
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
    parser.add_argument("--keep", type=a_path, metavar="DIR", help="keep the new records and logs there")
    parser.add_argument("--json", action="store_true", help="print every finding as JSON")


COMMAND = Command(
    name="verify",
    summary="run stored cells again on their images and say which figures come out the same",
    takes=("--arch", "--only", "--seeds", "--limits", "--executor"),
    add_options=_add_options,
    run=_run,
)
