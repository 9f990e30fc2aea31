"""The column of the reference's fastest variant stands where no other column names that variant."""

from collections.abc import Sequence
from pathlib import Path

from runner.matrix import load_matrix
from runner.records.publication import Publication
from runner.records.record import Record
from runner.report.tables.headline import headline_table
from runner.report.tables.selection import rooms

ROOT = Path(__file__).parents[4]
COLUMN = "times faster than the fastest variant of pytorch"


def rows_without(*left_out: str) -> list[dict[str, str]]:
    """DQN's table of a publication without these implementations, a row each."""
    records: Sequence[Record] = Publication.at(ROOT / "results/published/2026-11-27-trainings").records()
    shown = [each for each in records if each.implementation not in left_out]
    found = rooms(load_matrix(ROOT / "matrix.yaml"), shown, "dqn", profile="full")
    [room] = [each for each in found if each.ranked]
    table = headline_table(room, found, column="training seconds")
    return [dict(zip(table.headers, row, strict=True)) for row in table.rows]


def test_where_a_library_is_fastest_ours_is_also_compared_with_the_fastest_variant() -> None:
    [rust] = [row for row in rows_without() if row["implementation"] == "rust"]
    assert rust[COLUMN] == "8.26x (7.50 to 8.55) faster: pytorch-compile"
    assert rust["times faster than the fastest competitor"].endswith("faster: jax")


def test_where_the_variant_is_the_fastest_competitor_it_has_no_column_of_its_own() -> None:
    assert all(COLUMN not in row for row in rows_without("jax"))


def test_where_the_reference_is_its_fastest_variant_it_has_no_second_column() -> None:
    assert all(COLUMN not in row for row in rows_without("pytorch-tuned", "pytorch-compile"))
