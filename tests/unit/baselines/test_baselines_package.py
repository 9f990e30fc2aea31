import ast
from pathlib import Path

import pytest

import baselines
from baselines import versions

FOLDER = Path(baselines.__file__).parent


@pytest.mark.parametrize("file", sorted(FOLDER.glob("*.py")), ids=lambda file: file.name)
def test_no_baseline_knows_the_runner(file: Path) -> None:
    imported = set()
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            imported |= {name.name.split(".")[0] for name in node.names}
        elif isinstance(node, ast.ImportFrom):
            imported.add((node.module or "").split(".")[0])
    assert "runner" not in imported


@pytest.mark.parametrize(
    ("paths", "name"),
    [
        (
            [
                "/usr/lib/x/openblas-pthread/libblas.so.3",
                "/usr/lib/x/openblas-pthread/libopenblasp-r0.3.29.so",
            ],
            "OpenBLAS 0.3.29 pthread",
        ),
        (["/usr/lib/x/openblas-openmp/libopenblaso-r0.3.29.so"], "OpenBLAS 0.3.29 openmp"),
        (["/site-packages/numpy.libs/libscipy_openblas64_-32a4b2a6.so"], "OpenBLAS"),
        (["/usr/lib/x/blas/libblas.so.3.12.1"], "reference"),
        (["/usr/lib/x/libc.so.6"], None),
    ],
)
def test_the_blas_is_named_by_the_files_that_are_mapped(paths: list[str], name: str | None) -> None:
    assert versions.blas_of(paths) == name


def test_this_process_has_a_blas() -> None:
    assert versions.blas() is not None
