"""Read a bundle of unknown origin: every byte is compared with what was written, before anything of it is used."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path, PurePosixPath

import msgspec

from runner.bundles.contents import FACTS, MATRIX, RESULTS, SUMS, BundleFacts, sums_of
from runner.system.errors import DamagedBundle
from runner.system.files import writing_errors
from runner.system.plain_tar import Member, read_members
from runner.system.scratch import scratch_directory

_LARGEST_SMALL = 2**24
# Records, pages and ledgers. Images are not unpacked.
_LARGEST_RESULTS = 2**33


@contextmanager
def opened_bundle(path: Path) -> Iterator[Path]:
    """The folder of a bundle's results, for as long as the block lasts. Nothing of the bundle was altered.

    Raises:
        DamagedBundle: something was; the message names the file.
        NoSpace: the results do not fit on the disk.
    """
    members = _checked(path)
    unpacked = [each for each in members if each.name.startswith(f"{RESULTS}/") or each.name == MATRIX]
    if sum(each.content.size for each in unpacked) > _LARGEST_RESULTS:
        raise _damaged(path, f"its results are larger than {_LARGEST_RESULTS // 2**30} GiB")
    with scratch_directory("bundle") as folder:
        (folder / RESULTS).mkdir()
        with writing_errors(folder):
            for each in unpacked:
                _unpack(each, folder / each.name)
        yield folder / RESULTS


def _checked(path: Path) -> list[Member]:
    """The files of the bundle, after each was held to its checksum.

    Raises:
        DamagedBundle: one is not as it was written.
    """
    try:
        members = list(read_members(path))
        _require_sums(members)
        _require_known(members)
    except (ValueError, OSError) as error:
        raise _damaged(path, str(error)) from error
    return members


def _require_sums(members: Sequence[Member]) -> None:
    """See that the first file states the hash of every other, and of nothing else.

    Raises:
        ValueError: it does not; the message names a file.
    """
    if not members or members[0].name != SUMS:
        raise ValueError(f"it does not begin with {SUMS}")
    stated, names = _sums(members[0]), [each.name for each in members[1:]]
    if names != sorted(set(names)):
        raise ValueError("its files are not in their order, or one is there twice")
    folders = {parent.as_posix() for name in names for parent in PurePosixPath(name).parents}
    if both := folders & set(names):
        raise ValueError(f"{min(both)} is a file and a folder")
    if missing := stated.keys() - set(names):
        raise ValueError(f"it lacks {min(missing)}")
    for each in members[1:]:
        if each.name not in stated:
            raise ValueError(f"{each.name} is not in {SUMS}")
        if each.content.sha256() != stated[each.name]:
            raise ValueError(f"{each.name} is not what {SUMS} says")


def _sums(member: Member) -> dict[str, str]:
    """What SHA256SUMS states.

    Raises:
        ValueError: it is written in another way.
    """
    content = _small(member)
    pairs = [line.split("  ", 1) for line in content.decode("ascii", "strict").splitlines()]
    found = {name: value for value, name in pairs}
    if sums_of(found) != content:
        raise ValueError(f"{SUMS} is not written as it should be")
    return found


def _require_known(members: Sequence[Member]) -> None:
    """See that this version can read the bundle.

    Raises:
        ValueError: it cannot.
    """
    facts = next((each for each in members if each.name == FACTS), None)
    if facts is None:
        raise ValueError(f"it lacks {FACTS}")
    try:
        msgspec.json.decode(_small(facts), type=BundleFacts)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise ValueError(f"{FACTS} cannot be read: {error}") from error


def _small(member: Member) -> bytes:
    if member.content.size > _LARGEST_SMALL:
        raise ValueError(f"{member.name} is larger than {_LARGEST_SMALL // 2**20} MiB")
    return b"".join(member.content.blocks())


def _unpack(member: Member, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    with target.open("xb") as file:
        for block in member.content.blocks():
            file.write(block)


def _damaged(path: Path, why: str) -> DamagedBundle:
    return DamagedBundle(
        what=f"{path} is not a whole bundle",
        why=why,
        fix="take the file again from where it came, and compare its SHA-256 with what was said when it was written",
    )
