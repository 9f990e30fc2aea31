"""Make a publication: its files are written beside the others, and get their name when they are whole."""

import hashlib
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from runner.matrix import load_matrix
from runner.matrix.source import MOST_BYTES
from runner.publishing.definitions import definitions_of
from runner.publishing.files import Origin, as_json, compressed, facts_of, flags_of, page_of, summary_of
from runner.publishing.material import Material, material_of
from runner.publishing.pages import MATRIX, notes_of, pages_of
from runner.publishing.plans import keys_of, plans_of
from runner.publishing.refusals import require_publishable
from runner.publishing.signature import SIGNATURE, sign
from runner.records.ledger.file import read_ledger, text_in
from runner.records.publication import FACTS, RECORDS, Publication, stream_of
from runner.records.record import Record
from runner.records.store import LEDGER, Store
from runner.system.bounded_reading import read_bounded
from runner.system.errors import NotPublishable, UsageError
from runner.system.files import make_directory, part_prefix, sync_directory, tree, writing_errors
from runner.system.git import checkout_at
from runner.system.paths import portable
from runner.system.printable import first_of

_LARGEST_FILE = 2**28
_MOST_NAMED = 5


@dataclass(frozen=True, kw_only=True)
class Request:
    """What the user asks for.

    Attributes:
        name: of the publication.
        machine: the machine's name for people; empty for its processor's.
        what: what was run, in words; empty for a list of the benchmarks.
        with_warnings: whether records of a loaded machine are taken.
        key: the file of the key to sign with; None for no signature.
    """

    name: str
    machine: str
    what: str
    with_warnings: bool
    key: Path | None


def publish(
    request: Request, *, store: Store, matrix_path: Path, root: Path, published: Path
) -> tuple[Publication, Origin]:
    """Make the publication; return it, and what its row says.

    Args:
        request: what is asked for.
        store: the records and the ledger.
        matrix_path: the matrix that was run.
        root: the checkout.
        published: where publications lie.

    Raises:
        NotPublishable: something speaks against it; the message names every reason.
        UsageError: the name is taken, or cannot be a folder's.
        DamagedLedger, StoreError, MatrixError: what it would be made of is not intact.
    """
    target = _target(request.name, published)
    commit = _clean_commit(root)
    matrix_text = read_bounded(matrix_path, MOST_BYTES)
    matrix_sha256 = hashlib.sha256(matrix_text).hexdigest()
    ledger = text_in(store.ledger_path)
    material = material_of(store, ledger, commit=commit)
    flags = flags_of(material.newest)
    require_publishable(
        material,
        load_matrix(matrix_path),
        matrix_sha256=matrix_sha256,
        commit=commit,
        root=root,
        flags=() if request.with_warnings else flags,
    )
    notes = notes_of({"flags": flags, "plans": [plan.facts() for plan in material.plans]})
    origin = Origin(
        name=request.name,
        machine=request.machine,
        what=". ".join([request.what or _what(material), *(note.rstrip(".") for note in notes)]),
        commit=commit,
        matrix_sha256=matrix_sha256,
        known_faults=(),
    )
    part = published / f"{part_prefix()}{request.name}"
    with writing_errors(part):
        try:
            make_directory(part)
            _write(part, MATRIX, matrix_text)
            _write(part, LEDGER, ledger)
            stream = stream_of(material.records)
            _write(part, RECORDS, compressed(stream))
            facts = {
                **facts_of(origin, material.records, stream),
                "plans": [plan.facts() for plan in material.plans],
                "older_records_outside": material.older_outside,
                "flags": flags,
                "definitions": definitions_of(material.records),
            }
            fill(part, origin, facts, material.records)
            if request.key is not None:
                sign(part, request.key)
            part.rename(target)
            sync_directory(published)
        finally:
            shutil.rmtree(part, ignore_errors=True)
    return Publication.at(target), origin


def _target(name: str, published: Path) -> Path:
    if not portable(name):
        raise UsageError(
            what=f'a publication cannot be called "{name}"',
            why="the name is that of a folder, and of a page's address",
            fix="take letters, digits and = . _ - alone: 2026-11-30-dqn",
        )
    target = published / name
    if target.exists():
        raise UsageError(
            what=f"there is a publication {name} already",
            why="a publication is frozen, and no command writes to it",
            fix="give another name",
        )
    return target


def _clean_commit(root: Path) -> str:
    checkout = checkout_at(root)
    if checkout is None:
        raise NotPublishable(
            what="nobody knows the commit of this checkout",
            why=f"git is missing, or knows no commit in {root}",
            fix="publish from a clone (git clone), with git installed",
        )
    if checkout.changed:
        raise NotPublishable(
            what="this checkout differs from its commit",
            why=f"changed or new: {first_of(checkout.changed, _MOST_NAMED)}",
            fix="commit or remove what differs; records of a changed checkout have to be made again",
        )
    return checkout.commit


def fill(folder: Path, origin: Origin, facts: Mapping[str, Any], records: Sequence[Record]) -> None:
    """Write what follows from the records, the matrix and the ledger in ``folder``: pages, summary, publication.json.

    Pages of an earlier call are written anew, and those that are none any more are removed.
    """
    shutil.rmtree(folder / "tables", ignore_errors=True)
    shown = _of_its_cells(folder, facts, records)
    files: Mapping[str, bytes] = {"summary.csv": summary_of(shown), **pages_of(folder, facts, shown)}
    for name, content in files.items():
        _write(folder, name, content)
    pages = sorted(
        (Path(name) for name in files if name.endswith(".md")),
        key=lambda page: (page.parent, page.name != "overview.md", page.name),
    )
    _write(folder, "README.md", page_of(origin, facts, pages))
    # publication.json last: it holds the hashes of all others.
    _write(folder, FACTS, as_json({**facts, "files": hashes_in(folder)}))


def _of_its_cells(folder: Path, facts: Mapping[str, Any], records: Sequence[Record]) -> list[Record]:
    """The records of the cells that plans of the publication's commit had.

    A launch of another commit may have had other cells as well. Their records are kept, because a launch is published
    whole, and nothing was checked of them.
    """
    plans = plans_of(read_ledger(folder / LEDGER).lines)
    keys = keys_of(plan for plan in plans if plan.line.commit == facts["commit"])
    return [record for record in records if record.key in keys]


def hashes_in(folder: Path) -> dict[str, str]:
    """The SHA-256 of each file, by its path below the folder, without those that are held otherwise."""
    return {
        path.relative_to(folder).as_posix(): hashlib.sha256(read_bounded(path, _LARGEST_FILE)).hexdigest()
        for path in tree(folder)
        if path.relative_to(folder).as_posix() not in (FACTS, SIGNATURE, RECORDS)
    }


def _what(material: Material) -> str:
    benchmarks = sorted({record.benchmark for record in material.newest})
    seeds = len({record.seed for record in material.newest})
    return f"{', '.join(benchmarks)}; profile {' and '.join(material.profiles)}, {seeds} seeds"


def _write(folder: Path, name: str, content: bytes) -> None:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
