"""What an implementation may print, and what becomes of everything else."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.records.failure import FailureKind
from runner.referee.protocol import Reader, arguments

GOOD = {
    "event": "measurement",
    "case": "T=8",
    "metrics": {"seconds": [1e-6, 2e-6]},
    "counts": {"elements": 8},
    "memory": {"vmhwm_bytes": 1, "cgroup_peak_bytes": None},
}


def read(*lines: str, cases: tuple[str, ...] = ("T=8",)) -> Reader:
    reader = Reader(cases=cases, on_progress=lambda _: None)
    for line in lines:
        reader.line(line)
    return reader


def kind(reader: Reader, case: str = "T=8") -> FailureKind | None:
    failure = reader.failure_of(case)
    return failure.kind if failure else None


def test_one_valid_measurement_per_case_is_accepted():
    reader = read(json.dumps(GOOD), "", json.dumps(GOOD | {"case": "T=9"}), cases=("T=8", "T=9"))
    assert kind(reader) is None
    assert kind(reader, "T=9") is None
    assert reader.measurements["T=8"]["metrics"]["seconds"] == [1e-6, 2e-6]


def test_progress_is_handed_on_as_a_share():
    seen: list[float] = []
    Reader(cases=("T=8",), on_progress=seen.append).line(
        '{"event":"progress","done":1,"total":4,"unit":"step"}'
    )
    assert seen == [0.25]


def test_a_missing_measurement_is_a_failure_of_its_case_alone():
    reader = read(json.dumps(GOOD), cases=("T=8", "T=9"))
    assert kind(reader) is None
    assert kind(reader, "T=9") is FailureKind.MISSING_MEASUREMENT


def test_two_measurements_for_a_case_are_a_failure():
    assert kind(read(json.dumps(GOOD), json.dumps(GOOD))) is FailureKind.DOUBLED_MEASUREMENT


def test_nan_and_infinity_are_never_figures():
    for word in ("NaN", "Infinity", "-Infinity"):
        text = json.dumps(GOOD).replace("2e-06", word)
        assert kind(read(text)) is FailureKind.NOT_FINITE


@pytest.mark.parametrize(
    "line",
    [
        "hello",
        "3",
        "[]",
        '{"event":"mesurement"}',
        json.dumps(GOOD | {"extra": 1}),
        json.dumps({key: value for key, value in GOOD.items() if key != "counts"}),
        json.dumps(GOOD | {"metrics": {"seconds": []}}),
        json.dumps(GOOD | {"metrics": {"seconds": -1}}),
        json.dumps(GOOD | {"counts": {"elements": 1.5}}),
        json.dumps(GOOD | {"counts": {"elements": 8.0}}),
        json.dumps(GOOD | {"case": "T=10"}),
        json.dumps(GOOD | {"memory": {"vmhwm_bytes": 0, "cgroup_peak_bytes": None}}),
        "[" * 100_000,
        "[" * 100_000 + "]" * 100_000,
        "[" + "[]," * 10_000 + "[]]",
        '{"event":' * 900 + "1" + "}" * 900,
        json.dumps(GOOD | {"counts": {"elements": 10**4000}}),
        json.dumps(GOOD | {"metrics": {"seconds": 10**400}}),
        "1" * 5000,
        # What is not UTF-8 arrives so.
        json.dumps(GOOD).replace("elements", "ele\ufffdments"),
        '{"event":"progress","done":1,"total":2,"unit":"\ufffd"}',
    ],
)
def test_whatever_breaks_the_contract_fails_every_case_of_the_launch(line):
    reader = read(json.dumps(GOOD), line)
    assert kind(reader) is FailureKind.MALFORMED_OUTPUT
    assert len(reader.failure_of("T=8").detail) < 400


def test_after_the_first_breach_nothing_is_looked_at_any_more():
    seen: list[float] = []
    reader = Reader(cases=("T=8",), on_progress=seen.append)
    for line in ("rubbish", '{"event":"progress","done":1,"total":4,"unit":"step"}', json.dumps(GOOD)):
        reader.line(line)
    assert (seen, reader.measurements) == ([], {})
    assert kind(reader) is FailureKind.MALFORMED_OUTPUT
    assert "rubbish" in reader.failure_of("T=8").detail


def test_a_measurement_of_many_repetitions_and_metrics_is_no_rubbish():
    metrics = {f"m{number}": [1e-6] * 1000 for number in range(500)}
    reader = read(json.dumps(GOOD | {"metrics": metrics}))
    assert kind(reader) is None


@given(st.text(max_size=300))
def test_any_line_is_either_taken_or_a_typed_failure(line):
    reader = read(line)
    assert reader.failure_of("T=8") is not None


@given(
    st.recursive(
        st.none() | st.booleans() | st.floats() | st.text(),
        lambda each: st.lists(each) | st.dictionaries(st.text(), each),
    )
)
def test_any_json_is_either_taken_or_a_typed_failure(value):
    assert read(json.dumps(value)).failure_of("T=8") is not None


def test_the_arguments_repeat_case_and_parameters_in_pairs():
    assert arguments([("a", {"n": 1}), ("b", {"n": 2})], 3) == [
        "--case", "a", "--parameters", '{"n": 1}', "--case", "b", "--parameters", '{"n": 2}', "--seed", "3",
    ]  # fmt: skip
