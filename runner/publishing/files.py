"""What the files of a publication say: publication.json, its page and its summary, all made from the records."""

import gzip
import hashlib
import io
import json
import re
import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from msgspec import UnsetType

from runner.records.publication import counts_of
from runner.records.record import Record, canonical_json
from runner.report.export.table import Column
from runner.report.export.write import as_csv
from runner.report.tables import units
from runner.report.tables.markdown import escape
from runner.report.tables.warnings import flags_of_load, warnings_of_records

_FORMAT = 1


@dataclass(frozen=True, kw_only=True)
class Origin:
    """What only people and the history know of a publication: its row, its commit and its known faults."""

    name: str
    machine: str
    what: str
    commit: str | None
    matrix_sha256: str | None
    known_faults: tuple[str, ...]


def facts_of(origin: Origin, records: Sequence[Record], stream: bytes) -> dict[str, Any]:
    """The content of publication.json."""
    images = [image for record in records for image in _images(record)]
    return {
        "format": _FORMAT,
        "name": origin.name,
        "commit": origin.commit,
        "matrix_sha256": origin.matrix_sha256,
        "machines": _counted(record.machine.plain() for record in records),
        "images": _counted(images),
        "warnings": _by_platform(records, warnings_of_records),
        "known_faults": list(origin.known_faults),
        "counts": counts_of(records),
        "stream": {"bytes": len(stream), "sha256": hashlib.sha256(stream).hexdigest()},
    }


def as_json(facts: Mapping[str, Any]) -> bytes:
    """publication.json for people and programs."""
    return (json.dumps(facts, indent=1, allow_nan=False, ensure_ascii=False) + "\n").encode()


def compressed(stream: bytes) -> bytes:
    """The stream as gzip, without a time and a name: one version of zlib makes the same bytes of it again."""
    target = io.BytesIO()
    with gzip.GzipFile(filename="", mode="wb", fileobj=target, compresslevel=9, mtime=0) as file:
        file.write(stream)
    return target.getvalue()


def summary_of(records: Sequence[Record]) -> bytes:
    """summary.csv: one row a cell, which is one content key; its newest record counts, and all are counted.

    ``records`` are oldest first.
    """
    cells: dict[str, list[Record]] = {}
    for record in records:
        cells.setdefault(record.key, []).append(record)
    rows = sorted((_row(members) for members in cells.values()), key=_order)
    return as_csv(
        [
            Column(name=name, type=kind, values=tuple(row[name] for row in rows))
            for name, kind in _COLUMNS.items()
        ]
    )


def page_of(origin: Origin, facts: Mapping[str, Any], pages: Iterable[Path]) -> bytes:
    """README.md. ``pages`` are the rendered pages, as paths below the publication's folder."""
    counts = facts["counts"]
    lines = [
        f"# {origin.name}",
        "",
        _own_links(origin.what, origin.name) or "No row of the table of publications describes this one.",
        "",
        "| | |",
        "|---|---|",
        f"| machine | {origin.machine or '; '.join(_processors(facts))} |",
        f"| commit | {origin.commit or units.UNKNOWN} |",
        f"| SHA-256 of its matrix.yaml | {origin.matrix_sha256 or units.UNKNOWN} |",
        f"| records | {counts['records']} of {counts['cells']} cells, {counts['failed']} of them failed |",
        f"| SHA-256 of the records | {facts['stream']['sha256']} |",
        *_section("Known faults", map(escape, facts["known_faults"])),
        *_section("Taken on a loaded machine", map(escape, facts.get("flags", ()))),
        *_section("Warnings", map(escape, facts["warnings"])),
        *_section("Pages", [f"[{page.with_suffix('').as_posix()}]({page.as_posix()})" for page in pages]),
        *_section("Plans that were begun on the store for these cells", map(_plan, facts.get("plans", ()))),
        *_section("Images", [_image(each) for each in facts["images"]]),
        "",
        "## Check it",
        "",
        "[summary.csv](summary.csv) names the record of each cell. In a checkout:",
        "",
        f"    .venv/bin/python -m runner show {origin.name}#RECORD",
        f"    .venv/bin/python -m runner verify {origin.name}#RECORD",
        f"    .venv/bin/python -m runner export --results {origin.name}",
    ]
    return ("\n".join(lines) + "\n").encode()


_COLUMNS: Mapping[str, type] = {
    **dict.fromkeys(
        ("benchmark", "case", "implementation", "toolchain", "platform", "limits", "profile"), str
    ),
    "seed": int,
    "execution": str,
    "metric": str,
    "median": float,
    "unit": str,
    "peak_bytes": int,
    "failure": str,
    "records": int,
    "record": str,
}


def _row(members: Sequence[Record]) -> dict[str, Any]:
    newest = members[-1]
    metric = _headline(newest)
    # What a failed cell measured is no figure.
    values = () if newest.failed else newest.values(metric)
    return {
        **newest.cell.plain(),
        "profile": newest.profile,
        "execution": newest.execution.kind.value,
        "metric": metric,
        "median": float(statistics.median(values)) if values else None,
        "unit": {"seconds": "s", "bytes": "B"}.get(metric.rpartition("_")[2], ""),
        "peak_bytes": newest.memory.vmhwm_bytes,
        "failure": newest.failure.kind if newest.failure is not None else None,
        "records": len(members),
        "record": newest.identifier,
    }


def _order(row: Mapping[str, Any]) -> tuple[Any, ...]:
    names = ("benchmark", "case", "implementation", "toolchain", "platform", "limits", "profile", "seed")
    return (*(row[name] for name in names), row["record"])


def _headline(record: Record) -> str:
    """The metric that a page begins with. Records of the first schema do not say which it is."""
    if not isinstance(record.work, UnsetType):
        return record.work.headline
    return "training_seconds" if record.episodes is not None else "seconds"


def _images(record: Record) -> list[Mapping[str, Any]]:
    """The image of the launch, and that of its inputs where another one made them."""
    image = record.image
    core = image if isinstance(record.work, UnsetType) else record.work.core
    return [each.plain() for each in dict.fromkeys((image, core))]


def _counted(facts: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Each once, with how many records have it; sorted by what it is, so that the order says nothing."""
    found: dict[bytes, dict[str, Any]] = {}
    for each in facts:
        entry = found.setdefault(canonical_json(each), {"records": 0, "facts": each})
        entry["records"] += 1
    return [found[key] for key in sorted(found)]


def flags_of(records: Sequence[Record]) -> list[str]:
    """What the records say of other work on the machine, platform by platform."""
    return _by_platform(records, flags_of_load)


def _by_platform(records: Sequence[Record], texts: Callable[[Sequence[Record]], Iterable[str]]) -> list[str]:
    platforms = dict.fromkeys(record.platform for record in records)
    return [
        f"{platform}: {text}"
        for platform in sorted(platforms)
        for text in texts([record for record in records if record.platform == platform])
    ]


def _section(title: str, items: Iterable[str]) -> list[str]:
    lines = [f"- {item}" for item in items]
    return ["", f"## {title}", "", *lines] if lines else []


def _processors(facts: Mapping[str, Any]) -> list[str]:
    return sorted({escape(units.or_unknown(each["facts"].get("cpu_model"))) for each in facts["machines"]})


def _image(counted: Mapping[str, Any]) -> str:
    image = counted["facts"]
    return (
        f"{image['target']} {image['architecture']}, {counted['records']} records: "
        f"config {units.or_unknown(image['config_digest'])}, identity {units.or_unknown(image['identity'])}"
    )


def _plan(plan: Mapping[str, Any]) -> str:
    end = f"{plan['outcome']} at {plan['ended']}" if plan["ended"] else "**not closed**"
    counts = f"{plan['launches']} of {plan['planned']} launches, {plan['failed_cells']} failed cells"
    more = "".join(
        f", {plan[name]} {text}"
        for name, text in (
            ("void", "launches without all records"),
            ("removed", "launches whose records were removed"),
        )
        if plan[name]
    )
    return (
        f"{plan['plan']}: profile {plan['profile']}, commit {units.or_unknown(plan['commit'])}, begun {plan['begun']}, "
        f"{end}: {counts}{more}"
    )


def _own_links(text: str, name: str) -> str:
    """A row of the table of publications, whose links begin one folder higher, as text of a page of its own."""

    def moved(link: re.Match[str]) -> str:
        target = link[1]
        own = f"{name}/"
        return f"]({target.removeprefix(own) if target.startswith(own) else f'../{target}'})"

    return re.sub(r"\]\((?![a-z]+://)([^)]+)\)", moved, text)
