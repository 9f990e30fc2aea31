import pytest
from hypothesis import given
from hypothesis import strategies as st

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


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (0, "0 B"),
        (1023, "1,023 B"),
        (1024, "1.00 KiB"),
        (2**20 - 1, "1.00 MiB"),
        (2**30 - 1, "1.00 GiB"),
        (999 * 2**20, "999 MiB"),
    ],
)
def test_a_size_below_a_unit_is_that_unit_where_it_rounds_to_one(value: int, expected: str) -> None:
    assert units.size(value) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (5e-324, "4.94e-324"),
        (1.7976931348623157e308, "1.80e+308"),
        (-1e16, "-1.00e+16"),
        (9.996e15, "1.00e+16"),
        (1e-9, "0.00000000100"),
        (float("inf"), "inf"),
    ],
)
def test_an_extreme_figure_has_an_exponent(value: float, expected: str) -> None:
    assert units.significant(value) == expected


FLOATS = st.floats(-1e308, 1e308)
LONGEST = 24


@given(FLOATS)
def test_every_finite_figure_is_short_and_is_near_to_what_it_says(value: float) -> None:
    text = units.significant(value)
    assert len(text) <= LONGEST
    assert float(text.replace(",", "")) == pytest.approx(value, rel=0.0051, abs=1e-323)
    for shown in (units.seconds, units.size, units.count, units.plain, units.signed):
        assert len(shown(value)) <= LONGEST, shown


@given(st.floats(1e-15, 1e15))
def test_what_a_duration_and_a_size_say_is_what_they_are(value: float) -> None:
    for shown, scales in (
        (units.seconds, {"s": 1.0, "ms": 1e-3, "µs": 1e-6, "ns": 1e-9}),
        (units.size, {"GiB": 2.0**30, "MiB": 2.0**20, "KiB": 2.0**10, "B": 1.0}),
    ):
        number, unit = shown(value).split()
        said = float(number.replace(",", ""))
        assert said * scales[unit] == pytest.approx(value, rel=0.0051, abs=0.5 if unit == "B" else 0)


@given(st.floats(1e-9, 1e15), st.floats(1, 1 + 1e-6))
def test_a_larger_duration_or_size_never_looks_smaller(value: float, factor: float) -> None:
    scales = {
        "s": 1.0,
        "ms": 1e-3,
        "µs": 1e-6,
        "ns": 1e-9,
        "GiB": 2.0**30,
        "MiB": 2.0**20,
        "KiB": 2.0**10,
        "B": 1,
    }
    for shown in (units.seconds, units.size):
        (number, unit), (more, its) = (shown(each).split() for each in (value, value * factor))
        smaller, larger = (
            float(text.replace(",", "")) * scales[name] for text, name in ((number, unit), (more, its))
        )
        assert larger >= smaller * (1 - 1e-12)


@pytest.mark.parametrize("value", [-0.0, -0.001])
def test_no_return_is_less_than_nothing_by_rounding(value: float) -> None:
    assert (units.plain(value), units.signed(value), units.count(value)) == ("0.00", "+0.00", "0")


def test_a_negative_duration_has_the_unit_of_its_magnitude() -> None:
    assert units.seconds(-0.5) == "-500 ms"


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
