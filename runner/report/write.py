"""Pages on disk. They are written whole or not at all, and only when an input has changed."""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from enum import Enum
from pathlib import Path
from typing import Any

from runner.matrix import Matrix
from runner.records.record import Record
from runner.report.tables import TEMPLATES
from runner.system.bounded_reading import read_bounded
from runner.system.files import write_atomically
from runner.system.paths import portable

STAMP = ".stamp.json"
_RUNNER = Path(__file__).parents[1]
# A results directory may be of unknown origin, so reading from it is bounded.
_LARGEST_STAMP, _LARGEST_PAGE = 2**20, 64 * 2**20


@dataclass(frozen=True, kw_only=True)
class _Stamp:
    """The hash of the pages' inputs, and the hash of each page by file name."""

    content: str
    pages: Mapping[str, str]


def write_tables(
    matrix: Matrix,
    records: Sequence[Record],
    directory: Path,
    *,
    profile: str,
    published: str | None = None,
    notes: Sequence[str] = (),
) -> tuple[Path, ...]:
    """Write every page into ``directory``; return their paths. ``published`` and ``notes`` as of `render_pages`.

    Nothing is rendered or written where the records, matrix, templates, code and pages are unchanged since the last
    call. Pages of an earlier call that no longer exist are removed. Other files are left alone.
    """
    content = _content(matrix, records, profile, published, notes)
    before = _read_stamp(directory)
    if before is not None and before.content == content and _unaltered(directory, before):
        return tuple(directory / name for name in before.pages)
    # The import stands here so that a call without changes does not load the rendering libraries.
    from runner.report.html.report import pages_with_report  # noqa: PLC0415 (as the comment says)

    pages = pages_with_report(matrix, records, profile=profile, published=published, notes=notes)
    for name, text in pages.items():
        write_atomically(directory / name, text)
    for name in (before.pages if before else {}).keys() - pages.keys():
        (directory / name).unlink(missing_ok=True)
    stamp = {"content": content, "pages": {name: _hash([text.encode()]) for name, text in pages.items()}}
    write_atomically(directory / STAMP, json.dumps(stamp, indent=1) + "\n")
    return tuple(directory / name for name in pages)


def _content(
    matrix: Matrix, records: Iterable[Record], profile: str, published: str | None, notes: Sequence[str]
) -> str:
    """A hash of everything that the pages depend on.

    All code of the runner counts, because a list of the page-making modules would become incomplete.
    """
    files = sorted((*TEMPLATES.glob("*.*"), *_RUNNER.rglob("*.py"), *_RUNNER.rglob("*.json")))
    return _hash(
        (
            profile.encode(),
            (published or "").encode(),
            json.dumps(list(notes)).encode(),
            # The matrix's repr would order sets differently in each process. Its order of names is the pages' order.
            json.dumps(asdict(matrix), default=_plain).encode(),
            *sorted(record.content_sha256.encode() for record in records),
            *(path.read_bytes() for path in files),
        )
    )


def _plain(value: object) -> object:
    """The JSON form of a matrix's types that JSON lacks."""
    if isinstance(value, frozenset):
        return sorted(value)
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, Path):
        return str(value)
    raise TypeError(f"a matrix holds a {type(value).__name__}, which the stamp of its pages does not know")


def _read_stamp(directory: Path) -> _Stamp | None:
    """The stamp of the last call. None where none can be read, and every page is written."""
    try:
        found: Any = json.loads(read_bounded(directory / STAMP, _LARGEST_STAMP))
        # Only pages of this directory count, so that a stamp cannot name any other file.
        pages = {name: str(digest) for name, digest in found["pages"].items() if _is_page(name)}
        return _Stamp(content=str(found["content"]), pages=pages)
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None


def _is_page(name: str) -> bool:
    return portable(name) and name.endswith((".md", ".svg", ".html"))


def _unaltered(directory: Path, stamp: _Stamp) -> bool:
    try:
        return all(
            _hash([read_bounded(directory / name, _LARGEST_PAGE)]) == digest
            for name, digest in stamp.pages.items()
        )
    except OSError:
        return False


def _hash(parts: Iterable[bytes]) -> str:
    """A hash over the parts, each with its length, so that different lists of parts never look equal."""
    digest = hashlib.sha256()
    for part in parts:
        digest.update(len(part).to_bytes(8, "big"))
        digest.update(part)
    return digest.hexdigest()
