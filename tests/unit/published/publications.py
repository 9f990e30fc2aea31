"""The published folders, and what the document of publications says of each."""

import re

from documents.markdown import Document

from tests.fuzz.corpus import PUBLISHED

PUBLISHED_README = Document(PUBLISHED / "README.md")
# The machines that each row of the document names, by the row's folder.
FOLDERS = {
    re.findall(r"2026[a-z0-9-]+", row[0])[0]: row[1].split(",")[0].split(" and ")
    for rows in PUBLISHED_README.tables()
    if rows[0][0] == "folder"
    for row in rows[2:]
}
LAST_BEFORE_PACKING = "2026-11-24-sac-threads"


def cells(row: str) -> tuple[str, ...]:
    """A row of a Markdown table without its padding."""
    return tuple(cell.strip() for cell in row.strip("|").split("|"))
