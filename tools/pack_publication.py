"""Bring published folders into today's form, in place; ``forge-bench publish`` makes new ones.

    python -m tools.pack_publication results/published/NAME …

Every seal is checked before and after. A folder of record files is packed (see ``runner.records.publication``). Its
old files go only after the new ones were read back from the disk and hold the same records. A folder that is packed
already is checked and gets the known faults of today. One that ``publish`` made gets its pages again as well: records,
matrix and ledger stay, and a signature is removed where something changed.

The row in README.md beside the folder gives machine and commit, and ``tools/known_faults.yaml`` what is wrong. The
history of this checkout has to hold the commit.
"""

import argparse
import hashlib
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from runner.publishing.files import Origin, as_json, compressed, facts_of, page_of, summary_of
from runner.publishing.publish import fill
from runner.publishing.signature import SIGNATURE
from runner.records.publication import (
    FACTS,
    RECORDS,
    Publication,
    require_whole_launches,
    stream_of,
)
from runner.records.record import Record
from runner.records.store import Store
from runner.report.write import STAMP
from runner.system.bounded_reading import read_bounded
from runner.system.errors import DamagedRecord, ForgeBenchError, StoreError, UsageError
from runner.system.files import PART, part_prefix, sync_directory, tree

ROOT = Path(__file__).parents[1]
KNOWN_FAULTS = ROOT / "tools" / "known_faults.yaml"
_LARGEST_TABLE = 2**20


def pack(folder: Path) -> str:
    """Make ``folder`` a publication, or check the one that it is; returns one line about it.

    Raises:
        DamagedRecord: a record was altered, or left out of its launch; nothing was changed then.
        StoreError: the folder holds other things as well, or other records in its two forms; nothing was changed.
    """
    before = _bytes(folder)
    records = _records(folder)
    light = Publication.at(folder) if _is_packed(folder) else None
    origin = origin_of(folder, light)
    if light is not None and "plans" in light.facts:
        return _again(folder, light, origin, records)
    stream = stream_of(records)
    facts = (
        facts_of(origin, records, stream)
        if light is None
        else {**light.facts, "known_faults": list(origin.known_faults)}
    )
    files = {"README.md": page_of(origin, facts, _pages(folder)), FACTS: as_json(facts)}
    if light is None:
        # publication.json last: where it lies, the other files are whole.
        files = {RECORDS: compressed(stream), "summary.csv": summary_of(records), **files}
    for name, content in files.items():
        _write(folder / name, content)
    _require_equal(Publication.at(folder).records(), records, folder)
    _remove_old_form(folder)
    return f"{folder.name}: {len(records)} records, {before:,} bytes before, {_bytes(folder):,} now"


def _again(folder: Path, light: Publication, origin: Origin, records: Sequence[Record]) -> str:
    """Pages and known faults of today for a publication that ``publish`` made. Its records and ledger stay."""
    before = (folder / FACTS).read_bytes()
    facts = {**light.facts, "known_faults": list(origin.known_faults)}
    fill(folder, origin, facts, records)
    if (folder / FACTS).read_bytes() == before:
        return f"{folder.name}: {len(records)} records, unchanged"
    (folder / SIGNATURE).unlink(missing_ok=True)
    return f"{folder.name}: written again, and unsigned now: ssh-keygen -Y sign -n forge-bench -f KEY {FACTS}"


def origin_of(folder: Path, light: Publication | None) -> Origin:
    """What the table beside the folder, the list of known faults and the history say of the folder."""
    machine, what = _row(folder)
    commit = matrix = None
    if light is not None:
        commit, matrix = light.facts["commit"], light.facts["matrix_sha256"]
    elif found := re.search(r"\b[0-9a-f]{7,40}\b", machine):
        commit = _git("rev-parse", "--verify", f"{found[0]}^{{commit}}").decode().strip()
        matrix = hashlib.sha256(_git("show", f"{commit}:matrix.yaml")).hexdigest()
    known = yaml.safe_load(KNOWN_FAULTS.read_text(encoding="utf-8"))
    return Origin(
        name=folder.name,
        machine=machine.split(",")[0],
        what=what,
        commit=commit,
        matrix_sha256=matrix,
        known_faults=tuple(" ".join(text.split()) for text in known.get(folder.name, ())),
    )


def _records(folder: Path) -> list[Record]:
    """The records of either form; of both, where an earlier call was stopped between them."""
    stored = Store(folder).records() if (folder / "records").is_dir() else []
    if _is_packed(folder):
        packed = Publication.at(folder).records()
        if stored:
            _require_equal(packed, stored, folder)
        return packed
    if not stored:
        raise UsageError(
            what=f"{folder} is no publication",
            why="it has neither records/BENCHMARK/*.json nor publication.json",
            fix="copy the folder records of a results directory there first",
        )
    _require_known_files(folder, stored)
    try:
        require_whole_launches(stored)
    except ValueError as error:
        raise DamagedRecord(
            what=f"{folder} is not whole",
            why=str(error),
            fix="publish every record of a launch, those of failed cells too",
        ) from error
    return stored


def _require_known_files(folder: Path, records: Sequence[Record]) -> None:
    """See that nothing would be lost: each file is a record, a page, or one that is written anew.

    Raises:
        StoreError: there are other files.
    """
    written = {FACTS, RECORDS, "README.md", "summary.csv"}
    stored = {f"records/{record.benchmark}/{record.identifier}.json" for record in records}
    names = [path.relative_to(folder).as_posix() for path in sorted(folder.rglob("*")) if not path.is_dir()]
    kept = re.compile(rf"tables/|{re.escape(PART)}")
    others = [name for name in names if name not in written | stored and not kept.match(name)]
    if others:
        raise StoreError(
            what=f"{folder} holds {len(others)} files that a publication has no place for",
            why=f"the first is {others[0]}",
            fix="move them elsewhere: a publication is its records and their tables",
        )


def _require_equal(one: Sequence[Record], another: Sequence[Record], folder: Path) -> None:
    def data(records: Iterable[Record]) -> dict[str, Mapping[str, Any]]:
        return {record.identifier: record.plain() for record in records}

    if data(one) != data(another):
        raise StoreError(
            what=f"{folder} holds one set of records in {RECORDS} and another in records/",
            why="one of the two was changed after the folder was packed",
            fix="restore the folder from version control and call again",
        )


def _remove_old_form(folder: Path) -> None:
    """Remove records/ and the stamps of rendered pages. A call that is stopped here leaves no half of records/."""
    records = folder / "records"
    if records.is_dir():
        gone = folder / f"{part_prefix()}records"
        records.rename(gone)
        sync_directory(folder)
        shutil.rmtree(gone)
    for part in folder.glob(f"{PART}*"):
        if part.is_dir():
            shutil.rmtree(part)
        else:
            part.unlink()
    for stamp in folder.glob(f"tables/*/{STAMP}"):
        stamp.unlink()


def _write(path: Path, content: bytes) -> None:
    if path.is_file() and path.read_bytes() == content:
        return
    part = path.with_name(f"{part_prefix()}{path.name}")
    with part.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    part.replace(path)
    sync_directory(path.parent)


def _pages(folder: Path) -> list[Path]:
    """The rendered pages: a profile's overview first."""
    pages = [path.relative_to(folder) for path in folder.glob("tables/*/*.md")]
    return sorted(pages, key=lambda page: (page.parent, page.name != "overview.md", page.name))


def _row(folder: Path) -> tuple[str, str]:
    """Machine with commit, and description, as the table beside the folder has them; empty where there is no row."""
    table = folder.parent / "README.md"
    if not table.is_file():
        return "", ""
    text = read_bounded(table, _LARGEST_TABLE).decode()
    row = re.search(rf"^\| \[{re.escape(folder.name)}\]\([^)]*\) \| ([^|]*) \| (.*) \|$", text, re.MULTILINE)
    return (row[1].strip(), row[2].strip()) if row else ("", "")


def _is_packed(folder: Path) -> bool:
    return (folder / FACTS).is_file()


def _bytes(folder: Path) -> int:
    return sum(path.stat().st_size for path in tree(folder))


def _git(*arguments: str) -> bytes:
    done = subprocess.run(["git", "-C", ROOT, *arguments], capture_output=True, check=False)
    if done.returncode:
        raise UsageError(
            what="the commit of a publication is not in the history of this checkout",
            why=done.stderr.decode(errors="replace").strip(),
            fix="fetch the whole history (git fetch --unshallow) and call again",
        )
    return done.stdout


def main(arguments: Sequence[str] | None = None) -> int:
    """Pack what the command line names; returns the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.pack_publication",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("folders", nargs="+", type=Path, metavar="FOLDER", help="these folders")
    try:
        for folder in parser.parse_args(arguments).folders:
            print(pack(folder.resolve()), flush=True)
    except ForgeBenchError as error:
        print(error, file=sys.stderr)
        return error.exit_code
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
