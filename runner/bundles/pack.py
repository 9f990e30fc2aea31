"""From what a user asked for to a bundle: the files of the results, and the images of their records."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from runner.bundles.contents import MATRIX, RESULTS, BundledImage
from runner.bundles.write import Content, SavedImages, write_bundle
from runner.images.archive import ArchivedImage, images_in
from runner.images.reference import inspect, is_it, save
from runner.planning.recipe import lacks, load_work
from runner.records.image import ImageFacts
from runner.records.publication import Publication
from runner.records.record import Record
from runner.records.source import RecordSource
from runner.records.store import Store
from runner.system.errors import ImageNotFound, UsageError
from runner.system.files import tree
from runner.system.plain_tar import Piece
from runner.system.scratch import scratch_directory
from runner.verify.images import StandIn, find_images


@dataclass(frozen=True, kw_only=True)
class Packing:
    """What the user asks for.

    Attributes:
        source: the publication or the results directory.
        name: of the results.
        matrix: the file of the matrix, for results that bring none of their own.
        target: the file to write, which is not there yet.
        images: images that the user names, as for `runner.verify.images.find_images`.
    """

    source: RecordSource
    name: str
    matrix: Path
    target: Path
    images: Sequence[str]


def pack(asked: Packing, say: Callable[[str], None]) -> str:
    """Write the bundle; return its SHA-256.

    Raises:
        UsageError: there is no record, or the file is there already.
        ImageNotFound: the daemon lacks an image of the records.
        NoSpace, StoreError: it cannot be written.
    """
    if asked.target.exists():
        raise UsageError(
            what=f"{asked.target} is there already",
            why="a bundle is not written over another file",
            fix="give another name with --output, or remove the file",
        )
    records = asked.source.records()
    if not records:
        raise UsageError(
            what=f"there is no record in {asked.source.root}",
            why="a bundle is made of records and the images that they name",
            fix="name a publication, or a results directory with records in it",
        )
    files = dict(_files(asked))
    stand_ins = find_images(_needed(records), asked=asked.images, any_image=False, say=say)
    with scratch_directory("bundle") as folder:
        images = _saved(stand_ins, folder / "images.tar", say) if stand_ins else None
        return write_bundle(asked.target, name=asked.name, records=len(records), files=files, images=images)


def _files(asked: Packing) -> Iterator[tuple[str, Content]]:
    """The files of the results and the matrix, by their names in the bundle."""
    source = asked.source
    kept = tree(source.root) if isinstance(source, Publication) else _kept(source)
    for path in kept:
        yield f"{RESULTS}/{path.relative_to(source.root).as_posix()}", Piece.whole(path)
    own = source.root / MATRIX
    if isinstance(source, Store) or own.is_file():
        yield MATRIX, Piece.whole(asked.matrix if isinstance(source, Store) else own)


def _kept(source: RecordSource) -> Iterator[Path]:
    """What of a results directory is a result: no log, no input and no file of a run that goes on."""
    store = Store(source.root)
    yield from store.record_files()
    yield from (path for path in store.root.glob("ledger.*") if path.is_file() and not path.is_symlink())
    # Hidden files say which pages a later call may replace.
    yield from (path for path in tree(store.tables_directory) if not path.name.startswith("."))


def _needed(records: Iterable[Record]) -> list[ImageFacts]:
    """The images that running the records again needs. Records of the first schema cannot be run again."""
    works = [load_work(record) for record in records if lacks(record) is None]
    return list(dict.fromkeys(facts for work in works for facts in (work.core, work.image)))


def _saved(stand_ins: Mapping[ImageFacts, StandIn], archive: Path, say: Callable[[str], None]) -> SavedImages:
    """The images, saved to ``archive``.

    Raises:
        ImageNotFound: the daemon's archive lacks one.
    """
    digests = dict.fromkeys(each.facts.config_digest for each in stand_ins.values())
    wanted = [digest for digest in digests if digest is not None]
    say(f"saving {len(wanted)} image{'s' if len(wanted) > 1 else ''}")
    save(wanted, archive)
    found = list(images_in(archive))
    known: dict[str, BundledImage] = {}
    for digest in wanted:
        image = _of(digest, found)
        members = [each for each in stand_ins.values() if each.facts.config_digest == digest]
        known[image.digest] = BundledImage(
            config_digest=image.digest,
            stands_for=tuple(each.recorded for each in members),
            likeness=tuple(str(each) for each in members),
        )
    return SavedImages(archive=archive, known=known)


def _of(digest: str, images: Iterable[ArchivedImage]) -> ArchivedImage:
    inspected = inspect(digest)
    for image in images:
        if inspected is not None and is_it(inspected, image):
            return image
    raise ImageNotFound(
        what=f"the daemon did not save the image {digest}",
        why="no image in its archive has this digest",
        fix="see whether it still has it: docker image inspect " + digest,
    )
