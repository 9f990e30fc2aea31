"""Which image replaces a record's image: one that the user gave, or one that the daemon has."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import IntEnum

from runner.executors.base import Executor
from runner.images.labels import EXECUTION_HASH_LABEL, IDENTITY_LABEL
from runner.images.reference import (
    Candidate,
    candidates,
    facts_of,
    inspect,
    obtain,
    with_label,
)
from runner.matrix.toolchain import ARCHITECTURES
from runner.planning.recipe import Work
from runner.records.image import ImageFacts
from runner.system.errors import ImageNotFound, UsageError, WrongImage

_SHORT = 12


class Likeness(IntEnum):
    """How closely another image matches the image of a record. A smaller value is a closer match."""

    SAME = 0
    REBUILT = 1
    SAME_CODE = 2
    OTHER = 3

    def __str__(self) -> str:
        return {
            Likeness.SAME: "the record's own",
            Likeness.REBUILT: "another build of the same files",
            Likeness.SAME_CODE: "another runner, the same implementations",
            Likeness.OTHER: "another image",
        }[self]


@dataclass(frozen=True, kw_only=True)
class StandIn:
    """The image that replaces one that records name."""

    recorded: ImageFacts
    facts: ImageFacts
    likeness: Likeness

    @property
    def is_claimed(self) -> bool:
        """Whether the likeness is only what the image says of itself: anybody may write any label.

        Between bare hosts it is not: there the files that are run were hashed.
        """
        is_image = self.facts.config_digest is not None or self.facts.identity is not None
        return (
            is_image and self.likeness is not Likeness.OTHER and not _share_digest(self.recorded, self.facts)
        )

    def __str__(self) -> str:
        """The likeness in words, and what it rests on."""
        return (
            f"{self.likeness}, by its own labels: no digest shows it"
            if self.is_claimed
            else str(self.likeness)
        )


def likeness(recorded: ImageFacts, available: ImageFacts) -> Likeness:
    """How closely the image ``available`` matches ``recorded``.

    Equal config digests mean equal bytes. Equal identities mean equal input files. Equal execution hashes mean equal
    implementations and libraries. Docker's containerd store has a manifest's digest in place of the config digest, or
    the digest of an index of several architectures. Identities and execution hashes are labels of an image, and anybody
    may write those: see `StandIn.is_claimed`.
    """
    if _share_digest(recorded, available) and recorded.architecture == available.architecture:
        return Likeness.SAME
    if recorded.identity is not None and recorded.identity == available.identity:
        # Inside an image its digest is unknown, and only its identity is known.
        known = recorded.config_digest is not None and available.config_digest is not None
        return Likeness.REBUILT if known else Likeness.SAME
    if recorded.execution_hash == available.execution_hash:
        return Likeness.SAME_CODE
    return Likeness.OTHER


def _share_digest(one: ImageFacts, other: ImageFacts) -> bool:
    digests, others = ({each.config_digest, each.manifest_digest} - {None} for each in (one, other))
    return bool(digests & others)


def short(facts: ImageFacts) -> str:
    """An image in few words."""
    digest = facts.config_digest
    name = f"{facts.target} {facts.architecture}"
    return f"{name} {digest[: len('sha256:') + _SHORT]}" if digest else f"{name} (no digest)"


def find_images(
    recorded: Iterable[ImageFacts], *, asked: Sequence[str], any_image: bool, say: Callable[[str], None]
) -> dict[ImageFacts, StandIn]:
    """The image to run for each image that records name. The daemon has it when this returns.

    Args:
        recorded: what the records name.
        asked: the images that the user named (see `runner.images.reference.candidates`); empty for the daemon's
            images.
        any_image: whether to go on with an image that matches none of the records' images.
        say: takes a line about each image.

    Raises:
        WrongImage: the user's image is none of the records' images.
        ImageNotFound: one of the images was not found.
    """
    needed = list(dict.fromkeys(recorded))
    offered = _offered(needed, asked, any_image=any_image)
    stand_ins, arrived = {}, {}
    for each in needed:
        best = min(offered, key=lambda offer: _distance(each, offer.facts), default=None)
        if best is not None and (any_image or likeness(each, best.facts) is not Likeness.OTHER):
            like = likeness(each, best.facts)
            if best not in arrived:
                arrived[best] = obtain(best)
            facts = arrived[best]
        else:
            facts = _here(each)
            like = likeness(each, facts)
        stand_ins[each] = stand_in = StandIn(recorded=each, facts=facts, likeness=like)
        if like is not Likeness.SAME or stand_in.is_claimed:
            say(f"image {short(each)}: {short(facts)} replaces it: {stand_in}")
    return stand_ins


def own_image(
    works: Iterable[Work], executor: Executor, *, any_image: bool, say: Callable[[str], None]
) -> dict[ImageFacts, StandIn]:
    """The same for an executor that runs in its surroundings: the image around the runner, or a bare host.

    Raises:
        WrongImage: that is not the records' image.
    """
    stand_ins: dict[ImageFacts, StandIn] = {}
    for each, cell in (
        found for work in works for found in ((work.core, work.reference), (work.image, work.cell))
    ):
        if each in stand_ins:
            continue
        facts = executor.prepare(cell.implementation.image, cell.toolchain, cell.platform, say)
        like = likeness(each, facts)
        if like is Likeness.OTHER and not any_image:
            raise WrongImage(
                what=f"the records were made in another image than what is here: {short(each)}",
                why="their implementations are not the ones that would be run; that verifies nothing",
                fix="run verify inside that image, or on a host with --executor docker; --any-image goes on regardless",
            )
        stand_ins[each] = StandIn(recorded=each, facts=facts, likeness=like)
    return stand_ins


def refuse_images(asked: Sequence[str]) -> None:
    """Check that no image is named where none can be chosen.

    Raises:
        UsageError: one is.
    """
    if asked:
        raise UsageError(
            what=f"--image {asked[0]} cannot be used with the local executor",
            why="it runs what is around it: the image that it is in, or the host",
            fix="leave --image out, or add --executor docker",
        )


def _offered(needed: Sequence[ImageFacts], asked: Sequence[str], *, any_image: bool) -> list[Candidate]:
    architectures = {each.architecture for each in needed}
    offered: list[Candidate] = []
    for name in asked:
        known = [each for each in candidates(name, architectures) if each.facts.architecture in ARCHITECTURES]
        if not any_image and all(
            likeness(each, offer.facts) is Likeness.OTHER for each in needed for offer in known
        ):
            raise WrongImage(
                what=f"{name} is not the image of these records",
                why=f"it is {', '.join(map(_known_by, known)) or 'of an unknown architecture'}; "
                f"they were made with {', '.join(map(_described, needed))}",
                fix="give the image that they name; --any-image goes on with this one and says so",
            )
        offered += known
    return offered


def _distance(recorded: ImageFacts, available: ImageFacts) -> tuple[int, bool, bool]:
    return (
        likeness(recorded, available).value,
        recorded.architecture != available.architecture,
        recorded.target != available.target,
    )


def _here(recorded: ImageFacts) -> ImageFacts:
    """The image in the daemon that matches the recorded one most closely."""
    inspected = inspect(recorded.config_digest) if recorded.config_digest else None
    if inspected is None and recorded.identity:
        inspected = with_label(IDENTITY_LABEL, recorded.identity)
    if inspected is None:
        inspected = with_label(EXECUTION_HASH_LABEL, recorded.execution_hash)
    if inspected is not None:
        return facts_of(inspected)
    if recorded.identity is None:
        raise ImageNotFound(
            what="a record was made on a bare host, in no image",
            why="there is nothing to run it in that is known to be the same",
            fix="run verify in the checkout that made it, with --executor local",
        )
    raise ImageNotFound(
        what=f"the image of the records is not here: {_described(recorded)}",
        why="the daemon has no image of this digest, nor one that was built from the same files",
        fix="give it with --image FILE (docker save) or --image REGISTRY/REPOSITORY@sha256:…, or check out the "
        "sources that it was built from and call: python -m runner build",
    )


def _described(facts: ImageFacts) -> str:
    return f"{short(facts)} (files {(facts.identity or 'unknown')[:_SHORT]})"


def _known_by(candidate: Candidate) -> str:
    return _described(candidate.facts)
