"""A publication: a frozen folder that commands read like a store and never write to.

publication.json    machines, commit, images, warnings, known faults; count and hash of the records
README.md           its page
summary.csv         one row a cell
records.jsonl.gz    the records: a line each, canonical JSON, oldest first
tables/PROFILE/     the pages that were rendered when the publication was made
"""

import gzip
import hashlib
import io
import json
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any

from runner.records.audit_together import audit_together
from runner.records.record import Record, canonical_json
from runner.records.record_file import SelfContradiction, contradictory, parse_record
from runner.system.bounded_reading import read_bounded
from runner.system.errors import DamagedRecord
from runner.system.schema import schema

FACTS = "publication.json"
RECORDS = "records.jsonl.gz"
SCHEMA = Path(__file__).parents[1] / "schemas" / "publication.schema.json"
_LARGEST_FACTS = 2**22
_LARGEST_COMPRESSED = 2**28
# A measurement may fill 64 MiB of stdout, and so may the episodes beside it.
_LONGEST_LINE = 2**27


@dataclass(frozen=True, kw_only=True)
class Publication:
    """The publication in one folder. ``facts`` is what publication.json holds (see publication.schema.json)."""

    root: Path
    facts: Mapping[str, Any]

    @staticmethod
    def at(root: Path) -> "Publication":
        """The publication in the folder ``root``.

        Raises:
            DamagedRecord: publication.json cannot be read, or is none.
        """
        path = root / FACTS
        try:
            facts = json.loads(read_bounded(path, _LARGEST_FACTS))
        except (OSError, ValueError, RecursionError) as error:
            raise _damaged(path, str(error)) from error
        if not schema(SCHEMA).allows(facts):
            raise _damaged(path, schema(SCHEMA).why_not(facts))
        return Publication(root=root, facts=facts)

    def records(self) -> list[Record]:
        """Every record, oldest first. Each is intact, and together they are all that publication.json counts.

        They are read once.

        Raises:
            DamagedRecord: records were altered, left out, added or moved.
            ContradictoryRecord: the fields of a record, or the records of a launch, cannot all be true.
        """
        return list(self._records)

    @cached_property
    def _records(self) -> tuple[Record, ...]:
        try:
            records = tuple(_parsed(number, line) for number, line in enumerate(self._lines(), start=1))
            _require_consistent(records, self.facts["counts"])
        except SelfContradiction as error:
            raise contradictory(str(self.root / RECORDS), str(error)) from error
        except (OSError, EOFError, zlib.error, ValueError) as error:
            raise _damaged(self.root / RECORDS, str(error)) from error
        return records

    def _lines(self) -> Iterator[bytes]:
        """The lines of the stream. The hash is compared at its end, so a caller has to read all of them."""
        stated = self.facts["stream"]
        # The hash is of the uncompressed stream, because versions of zlib may compress the same bytes differently.
        digest, size = hashlib.sha256(), 0
        compressed = read_bounded(self.root / RECORDS, _LARGEST_COMPRESSED)
        with gzip.GzipFile(fileobj=io.BytesIO(compressed)) as stream:
            while line := stream.readline(_LONGEST_LINE + 1):
                size += len(line)
                if len(line) > _LONGEST_LINE:
                    raise ValueError(f"a line is longer than {_LONGEST_LINE} bytes")
                if size > stated["bytes"]:
                    raise ValueError(
                        f"the stream is longer than the {stated['bytes']} bytes that {FACTS} states"
                    )
                digest.update(line)
                yield line
        if digest.hexdigest() != stated["sha256"]:
            raise ValueError(f"the SHA-256 of the stream is not the one that {FACTS} states")


def is_publication(root: Path) -> bool:
    """Whether ``root`` is a publication's folder, even one that lost a file."""
    return any((root / name).exists() for name in (FACTS, RECORDS))


def stream_of(records: Iterable[Record]) -> bytes:
    """The uncompressed content of records.jsonl.gz: the same bytes for the same records in any order.

    The records are sorted by time and then by name, the order in which a store returns them.
    """
    return b"".join(canonical_json(record.plain()) + b"\n" for record in sorted(records, key=_place))


def counts_of(records: Sequence[Record]) -> dict[str, int]:
    """The numbers of records that publication.json states."""
    return {
        "records": len(records),
        "cells": len({record.key for record in records}),
        "failed": sum(record.failed for record in records),
    }


def _parsed(number: int, line: bytes) -> Record:
    try:
        return parse_record(line)
    except SelfContradiction as error:
        raise SelfContradiction(f"line {number}: {error}") from error
    except ValueError as error:
        raise ValueError(f"line {number}: {error}") from error


def _require_consistent(records: Sequence[Record], counts: Mapping[str, int]) -> None:
    """Raise ValueError where records are in the wrong order, too many or too few, or not whole launches."""
    for one, next_one in pairwise(records):
        if _place(one) >= _place(next_one):
            raise ValueError(f"record {next_one.identifier} is not in its place, or is there twice")
    if counts_of(records) != counts:
        raise ValueError(f"{FACTS} counts {counts}, and the records are {counts_of(records)}")
    require_whole_launches(records)
    if found := next(audit_together(records), None):
        raise SelfContradiction(f"its records contradict each other: {found}")


def require_whole_launches(records: Iterable[Record]) -> None:
    """Check that each launch has a record of each case that it served, failed cases included.

    Raises:
        ValueError: a record was left out.
    """
    served: dict[str, set[str]] = {}
    recorded: dict[str, set[str]] = {}
    for record in records:
        launch = record.launch
        # Records of the first schema do not name the cases of their launch.
        served.setdefault(launch.id, set()).update(launch.cases or ())
        recorded.setdefault(launch.id, set()).add(record.case)
    for identifier, cases in served.items():
        if missing := cases - recorded[identifier]:
            raise ValueError(f"the records of launch {identifier} leave out {', '.join(sorted(missing))}")


def _place(record: Record) -> tuple[str, str]:
    return record.created_at, record.identifier


def _damaged(path: Path, why: str) -> DamagedRecord:
    return DamagedRecord(
        what=f"damaged publication {path}",
        why=why,
        fix="fetch the publication again from its source; no part of it may be edited",
    )
