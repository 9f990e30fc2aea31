"""The watch of an instrumented training gives each moment to one phase, and counts calls."""

import time

import pytest

from baselines.benchmarks.phases import Layer, Phase, Unwatched, Watched, watch_of

PHASES = (Phase("first", Layer.RUST), Phase("second", Layer.PYTORCH), Phase("never", Layer.PYTHON))


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Readings that the clock gives, in nanoseconds."""
    readings: list[int] = []
    monkeypatch.setattr(time, "perf_counter_ns", lambda: readings.pop(0))
    return readings


def test_what_passed_since_the_border_before_belongs_to_the_phase_that_ends(clock: list[int]) -> None:
    clock[:] = [1000, 1300, 1350, 1650]
    watch = Watched(PHASES)
    assert watch.start() == pytest.approx(1000e-9)
    watch.ended(0)
    watch.ended(1)
    assert watch.stop(0) == pytest.approx(1650e-9)
    assert watch.metrics() == {
        "phase_rust_first_seconds": pytest.approx(600e-9),
        "phase_pytorch_second_seconds": pytest.approx(50e-9),
    }
    assert watch.counts() == {"laps_rust_first": 2, "laps_pytorch_second": 1}


def test_the_phases_are_the_whole_loop() -> None:
    watch = Watched(PHASES)
    started = watch.start()
    for _ in range(100):
        watch.ended(0)
        watch.ended(1)
    whole = watch.stop(1) - started
    assert sum(watch.metrics().values()) == pytest.approx(whole, abs=1e-9)


def test_calls_of_our_module_are_counted_and_their_results_handed_on() -> None:
    watch = Watched(PHASES)
    add = watch.crossing("addition", lambda a, *, b: a + b)
    again = watch.crossing("addition", lambda: 7)
    assert (add(1, b=2), add(3, b=4), again()) == (3, 7, 7)
    assert watch.counts() == {"crossings_addition": 3}


def test_an_uninstrumented_training_reads_no_clock_and_counts_nothing() -> None:
    watch = Unwatched(PHASES)
    watch.start()
    watch.ended(0)
    watch.stop(1)
    assert watch.crossing("max", max) is max
    assert (watch.metrics(), watch.counts()) == ({}, {})


def test_the_option_chooses_the_watch() -> None:
    assert watch_of(frozenset({"phases", "arrays"})) is Watched
    assert watch_of(frozenset({"arrays"})) is Unwatched
