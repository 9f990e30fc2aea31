import pytest

from runner.figures.statistics import Interval, Spread
from runner.report.tables import units


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (0, "0"),
        (1.0, "1.00"),
        (9.996, "10.0"),
        (99.95, "100"),
        (1234.5, "1,230"),
        (0.012345, "0.0123"),
        (-3.14159, "-3.14"),
    ],
)
def test_figures_have_three_significant_digits(value: float, expected: str) -> None:
    assert units.significant(value) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (4.71e-6, "4.71 µs"),
        (9.999e-7, "1.00 µs"),
        (3.2e-10, "0.320 ns"),
        (0.0581, "58.1 ms"),
        (1234.0, "1,230 s"),
    ],
)
def test_durations_have_a_sensible_unit(value: float, expected: str) -> None:
    assert units.seconds(value) == expected


def test_an_interval_keeps_the_unit_of_its_figure() -> None:
    interval = Interval(value=1.1e-6, low=0.9e-6, high=1.2e-6, n=5)
    assert units.figure(interval, "seconds") == "1.10 µs (0.900 to 1.20)"
    assert units.figure(interval, "steps") == "0.00000110 (0.000000900 to 0.00000120)"


def test_sizes_are_binary() -> None:
    assert [units.size(value) for value in (512, 4 * 2**20, 3 * 2**30)] == ["512 B", "4.00 MiB", "3.00 GiB"]


def test_ratios_name_their_verdict() -> None:
    assert units.ratio(Interval(value=12.3, low=11.8, high=12.9, n=5)) == "12.3x (11.8 to 12.9) faster"
    assert units.ratio(Interval(value=1.0, low=0.9, high=1.1, n=5)) == "1.00x (0.900 to 1.10) inconclusive"
    assert units.ratio(Interval(value=2.0, low=None, high=None, n=1)) == "2.00x, n<5: not ranked"


def test_returns_have_two_decimals() -> None:
    assert units.mean_and_deviation(Spread(mean=488.686, deviation=16.114, n=3)) == "488.69 ± 16.11"
    assert units.mean_and_deviation(Spread(mean=20, deviation=None, n=1)) == "20.00"


@pytest.mark.parametrize(
    ("value", "expected"), [(None, "unknown"), ("", "unknown"), (True, "yes"), (False, "no"), (2, "2")]
)
def test_null_is_unknown(value: object, expected: str) -> None:
    assert units.or_unknown(value) == expected
