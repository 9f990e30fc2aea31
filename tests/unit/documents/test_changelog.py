"""The changelog keeps the form that it names."""

import re

from documents.markdown import ROOT, Document

PAGE = Document(ROOT / "CHANGELOG.md")
VERSION = re.compile(r"\[(\d+)\.(\d+)\.(\d+)\] - (\d{4}-\d{2}-\d{2})")


def test_versions_stand_newest_first_below_what_is_not_released() -> None:
    versions = [text for level, text in PAGE.headings if level == 2]
    assert versions[0] == "[Unreleased]"
    released = [VERSION.fullmatch(text) for text in versions[1:]]
    assert all(released)
    order = [(tuple(map(int, found.groups()[:3])), found[4]) for found in released if found]
    assert order == sorted(order, reverse=True)


def test_changes_are_sorted_into_the_kinds_of_keep_a_changelog() -> None:
    kinds = {text for level, text in PAGE.headings if level == 3}
    assert kinds
    assert kinds <= {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}
