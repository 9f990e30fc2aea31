"""Each publication is what it says of itself: its plans, its files and who signed it."""

from published.publications import FOLDERS, LAST_BEFORE_PACKING
from runner.publishing.check import BEFORE, standing_of
from runner.records.publication import Publication
from tests.fuzz.corpus import PUBLISHED

ALLOWED_SIGNERS = PUBLISHED / "allowed_signers"


def test_a_publication_is_what_it_says_of_itself() -> None:
    """Which those from before the referee cannot be held to: they have no ledger and name no file."""
    standing = {name: standing_of(Publication.at(PUBLISHED / name), ALLOWED_SIGNERS) for name in FOLDERS}
    assert {name for name, lines in standing.items() if BEFORE in lines[0]} == {
        name for name in FOLDERS if name <= LAST_BEFORE_PACKING
    }
