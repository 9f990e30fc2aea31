"""A page says below its title at which commits its records were measured."""

import pytest
from example_records import make_record

from runner.records.ledger.commits import Source
from runner.report.tables.notes import commit_notes, noted

RECORDS = [make_record(seed=seed) for seed in (1, 2, 3)]
ONE, OTHER = (Source(commit=digit * 40, changed=digit == "b") for digit in "ab")


@pytest.mark.parametrize(
    ("sources", "notes"),
    [
        ((ONE, ONE, ONE), (f"Measured at commit {'a' * 40}.",)),
        ((OTHER, OTHER, OTHER), (f"Measured at commit {'b' * 40} with changed files.",)),
        (
            (ONE, ONE, OTHER),
            (
                f"Measured at several commits: commit {'a' * 40} (2 cells), "
                f"commit {'b' * 40} with changed files (1 cell).",
            ),
        ),
        (
            (ONE, ONE, None),
            (f"Measured at several commits: commit {'a' * 40} (2 cells), an unknown commit (1 cell).",),
        ),
        ((None, None, None), ()),
    ],
)
def test_a_note_names_the_commits_of_the_records_and_is_left_out_where_none_is_known(sources, notes):
    known = {
        record.content_sha256: source
        for record, source in zip(RECORDS, sources, strict=True)
        if source is not None
    }
    assert commit_notes(RECORDS, known) == notes


def test_a_note_stands_between_title_and_text():
    assert noted("# Title\n\nText.\n", ["First.", "Second."]) == (
        "# Title\n\n> First.\n\n> Second.\n\nText.\n"
    )
    assert noted("# Title\n\nText.\n", []) == "# Title\n\nText.\n"
