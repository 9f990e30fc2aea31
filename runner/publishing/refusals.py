"""Why records may not be published as they are. Every reason is found at once, and names its rows."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from runner.figures.statistics import LEAST_PROCESSES
from runner.images.identity import identify
from runner.images.spec import ImageSpec
from runner.matrix import Matrix
from runner.matrix.images import OURS
from runner.publishing.material import Material
from runner.records.record import Record
from runner.system.errors import ForgeBenchError, NotPublishable
from runner.system.printable import first_of

_MOST_NAMED = 5
Row = tuple[str, str, str, str, str, str, str]


def require_publishable(
    material: Material, matrix: Matrix, *, matrix_sha256: str, commit: str, root: Path, flags: Sequence[str]
) -> None:
    """See that nothing speaks against a publication.

    Args:
        material: what would be published.
        matrix: the matrix that its pages are rendered with.
        matrix_sha256: the hash of that matrix's file.
        commit: of the checkout.
        root: the checkout.
        flags: what the records say of a loaded machine; empty where the caller takes that.

    Raises:
        NotPublishable: with every reason.
    """
    ranked = [record for record in material.newest if not _judges_alone(record, matrix)]
    reasons = [
        *_plans(material, matrix_sha256),
        *_ledger(material),
        *_unfinished(material),
        *_foreign_plans(material, commit),
        *_rows(material.newest, matrix),
        *_images(material.newest, matrix, root),
        *_few(ranked),
        *_unaudited(ranked),
        *(
            f"{flag} To do: run these cells again with --fresh on an idle machine, or give --with-warnings: "
            "every page and the row then say so."
            for flag in flags
        ),
    ]
    if reasons:
        count = "1 reason speaks" if len(reasons) == 1 else f"{len(reasons)} reasons speak"
        raise NotPublishable(
            what=f"{count} against this publication\n" + "\n".join(f"    {reason}" for reason in reasons),
            why="a publication shows whole plans of one commit, failures included, with enough processes",
            fix="each reason names what to do; nothing was written",
        )


def _plans(material: Material, matrix_sha256: str) -> Iterator[str]:
    for plan in material.own:
        line = plan.line
        if line.dirty is not False:
            yield (
                f"Plan {line.plan} was begun in a checkout that differed from its commit. "
                "To do: commit, and run its cells again in a results directory of their own."
            )
        if line.matrix_sha256 != matrix_sha256:
            yield (
                f"Plan {line.plan} was made from another matrix file. "
                "To do: give the file with --matrix, or run in a results directory of its own."
            )


def _ledger(material: Material) -> Iterator[str]:
    for seal, plan in list(material.lost.items())[:_MOST_NAMED]:
        yield (
            f"The record {seal[:12]} of plan {plan.line.plan} is not in the store any more. "
            "To do: restore its file; a record is never left out."
        )
    if material.outside:
        yield (
            f"No whole launch of the ledger made the records of {_named(material.outside)}. "
            "To do: run these cells again with --fresh."
        )


def _unfinished(material: Material) -> Iterator[str]:
    begun = {plan.line.plan: index for index, plan in enumerate(material.plans)}
    for plan in material.own:
        # What an earlier plan measured is no answer to a plan that was to measure it again.
        finished = {
            record.key
            for record in material.records
            if begun[material.plan_of(record).line.plan] >= begun[plan.line.plan]
        }
        missing = [launch.name for launch in plan.line.launches if not finished.issuperset(launch.keys)]
        if missing:
            yield (
                f"Plan {plan.line.plan} left cells without a record: {first_of(missing, _MOST_NAMED)}. "
                "To do: run again, which goes on where it stopped."
            )


def _foreign_plans(material: Material, commit: str) -> Iterator[str]:
    others = [record for record in material.newest if material.plan_of(record).line.commit != commit]
    if others:
        yield (
            f"The newest records of {_named(others)} are of another commit. "
            "To do: check that commit out, or run these cells again with --fresh."
        )


def _rows(records: Iterable[Record], matrix: Matrix) -> Iterator[str]:
    """Each record has to have a row in a page, a failed one above all."""
    hidden = [record for record in records if not _has_row(record, matrix)]
    if hidden:
        failed = sum(record.failed for record in hidden)
        yield (
            f"No page has a row for {_named(hidden)}, of which {failed} failed: the matrix does not have them. "
            "To do: render with the matrix that was run."
        )


def _has_row(record: Record, matrix: Matrix) -> bool:
    benchmark = matrix.benchmarks.get(record.benchmark)
    return (
        benchmark is not None
        and record.case in benchmark.cases
        and record.implementation in benchmark.implementations
        and record.platform in matrix.platforms
        and record.cell.toolchain in matrix.toolchains
    )


def _images(records: Iterable[Record], matrix: Matrix, root: Path) -> Iterator[str]:
    others = [
        record for record in records if _has_row(record, matrix) and not _of_this_commit(record, matrix, root)
    ]
    if others:
        yield (
            f"The image of {_named(others)} was not made from this commit. "
            "To do: run these cells again; the run builds the image."
        )


def _of_this_commit(record: Record, matrix: Matrix, root: Path) -> bool:
    implementation = matrix.benchmarks[record.benchmark].implementations[record.implementation]
    image = record.image
    # The runner inside an image runs all that this image holds. A bare host is no image.
    target = OURS.get(image.target, implementation.image)
    try:
        expected = identify(
            ImageSpec(
                target=target,
                architecture=image.architecture,
                toolchain=matrix.toolchains[record.cell.toolchain],
            ),
            root,
        )
    except ForgeBenchError:
        return False
    return image.execution_hash in (
        expected.execution_hash,
        f"host:{expected.execution_hash}",
    ) and image.identity in (None, expected.identity)


def _judges_alone(record: Record, matrix: Matrix) -> bool:
    """Whether it is a native reference of emulated sizes. It judges emulated cells, and has a row on no page."""
    benchmark = matrix.benchmarks.get(record.benchmark)
    if record.execution.emulated or benchmark is None or record.profile not in benchmark.sizes:
        return False
    if record.case not in benchmark.cases:
        return False
    case, sizes = benchmark.cases[record.case].parameters, benchmark.sizes[record.profile]
    native, emulated = ({**case, **sizes.of(emulated=each)} for each in (False, True))
    return record.parameters == emulated != native


def _few(records: Iterable[Record]) -> Iterator[str]:
    """Emulated cells are never ranked, so that one process is enough for their gates."""
    seeds: dict[Row, set[int]] = {}
    for record in records:
        if not record.execution.emulated:
            seeds.setdefault(_row(record), set()).add(record.seed)
    few = [row for row, found in seeds.items() if len(found) < LEAST_PROCESSES]
    if few:
        names = first_of([" ".join(row[:3]) for row in few], _MOST_NAMED)
        yield (
            f"Fewer than {LEAST_PROCESSES} processes were run of {names}. "
            "To do: run a profile, or --seeds, with as many."
        )


def _unaudited(records: Iterable[Record]) -> Iterator[str]:
    """One launch of each training's rows has to be audited, where its times are ranked."""
    rows: dict[Row, list[Record]] = {}
    for record in records:
        if record.execution.ranked and record.work and record.work.refereed and record.episodes is not None:
            rows.setdefault(_row(record), []).append(record)
    without = [
        row for row, found in rows.items() if not any(each.referee and each.referee.audit for each in found)
    ]
    if without:
        names = first_of([" ".join(row[:3]) for row in without], _MOST_NAMED)
        yield (
            f"No launch of {names} was audited with a seed that nobody knew. "
            "To do: run these cells again with --fresh."
        )


def _row(record: Record) -> Row:
    cell = record.cell
    place = (cell.platform, cell.toolchain, cell.limits)
    return (cell.benchmark, cell.implementation, cell.case, *place, record.profile)


def _named(records: Sequence[Record]) -> str:
    names = dict.fromkeys(f"{each.benchmark} {each.implementation} {each.case}" for each in records)
    return first_of(list(names), _MOST_NAMED)
