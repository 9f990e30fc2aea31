"""Every row and column that the summary declares is in the matrix."""

import pytest

from runner.report.tables.summary.declared import COMPONENTS, NETWORKS, OPERATIONS, POST_TRAINING, Declared
from tables.summary.made import MATRIX

TABLES = {
    "operations": OPERATIONS,
    "post-training": POST_TRAINING,
    "networks": NETWORKS,
    "components": COMPONENTS,
}


@pytest.mark.parametrize("declared", TABLES.values(), ids=TABLES)
def test_a_declared_row_is_a_case_of_the_matrix(declared: Declared) -> None:
    for line in declared.lines:
        assert line.case in MATRIX.benchmarks[line.benchmark].cases, line.label
    labels = [line.label for line in declared.lines]
    assert len(set(labels)) == len(labels) > 1


@pytest.mark.parametrize("declared", TABLES.values(), ids=TABLES)
def test_a_declared_column_names_implementations_of_the_matrix(declared: Declared) -> None:
    known = {name for line in declared.lines for name in MATRIX.benchmarks[line.benchmark].implementations}
    for column in declared.columns:
        assert set(column.implementations) <= known, column.heading
