import pytest

from baselines import versions


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
