"""Whatever an implementation prints, each case ends with a measurement that a record can hold, or with a reason."""

import json
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.executors.watch import Streams
from runner.records.failure import Failure, FailureKind
from runner.records.record import SCHEMA, content_hash
from runner.referee.protocol import Reader
from runner.system.schema import schema
from tests.fuzz import corpus

CASE = "T=2048"
GOOD = next(line for line in corpus.lines() if json.loads(line).get("case") == CASE)


def read(*chunks: bytes) -> tuple[Reader, Failure | None]:
    """Feed the chunks as a launch's stdout."""
    reader = Reader(cases=[CASE], on_progress=lambda _: None)
    streams = Streams(reader.line)
    for chunk in chunks:
        streams.feed(chunk, None)
    streams.close(whole=True)
    return reader, reader.failure_of(CASE)


def changed(*path: str, to: Any) -> bytes:
    event = json.loads(GOOD)
    node = event
    for key in path[:-1]:
        node = node[key]
    node[path[-1]] = to
    return json.dumps(event).encode() + b"\n"


def test_a_good_line_is_a_measurement_however_it_is_cut() -> None:
    for at in (1, 7, len(GOOD) - 1):
        reader, failure = read(GOOD[:at], GOOD[at:])
        assert failure is None
        assert reader.measurements[CASE] == json.loads(GOOD)


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        (b"[" * 100_000, FailureKind.MALFORMED_OUTPUT),
        (b'{"event":' * 100_000, FailureKind.MALFORMED_OUTPUT),
        (b'{"event": "measurement", "x": ' + b"[" * 900 + b"]" * 900 + b"}", FailureKind.MALFORMED_OUTPUT),
        (
            b'{"event": "progress", "done": 1' + b"0" * 400 + b', "total": 1, "unit": "x"}',
            FailureKind.MALFORMED_OUTPUT,
        ),
        (b'{"event": "progress", "done": ' + b"9" * 5000 + b"}", FailureKind.MALFORMED_OUTPUT),
        (b'{"event": "progress", "done": 1, "total": 0, "unit": "x"}', FailureKind.MALFORMED_OUTPUT),
        (b'{"event": ["measurement"]}', FailureKind.MALFORMED_OUTPUT),
        (b'{"event": {"measurement": 1}}', FailureKind.MALFORMED_OUTPUT),
        (b"null", FailureKind.MALFORMED_OUTPUT),
        (b"\xff\xfe" + GOOD, FailureKind.MALFORMED_OUTPUT),
        (b"\xed\xa0\x80", FailureKind.MALFORMED_OUTPUT),
        (changed("case", to="\ud800"), FailureKind.MALFORMED_OUTPUT),
        (changed("case", to="../../x"), FailureKind.MALFORMED_OUTPUT),
        (changed("case", to=f"{CASE}\n"), FailureKind.MALFORMED_OUTPUT),
        (changed("metrics", "seconds", to=[10**400]), FailureKind.MALFORMED_OUTPUT),
        (changed("metrics", "seconds", to=[1e300]), FailureKind.MALFORMED_OUTPUT),
        (changed("metrics", "seconds", to=[float("nan")]), FailureKind.NOT_FINITE),
        (changed("metrics", "seconds", to=[[[1.0]]]), FailureKind.MALFORMED_OUTPUT),
        (changed("metrics", "seconds\n", to=[1.0]), FailureKind.MALFORMED_OUTPUT),
        (changed("metrics", to={f"m{n}": 1.0 for n in range(2000)}), FailureKind.MALFORMED_OUTPUT),
        (changed("counts", "elements", to=10**30), FailureKind.MALFORMED_OUTPUT),
        (changed("counts", "elements", to=True), FailureKind.MALFORMED_OUTPUT),
        (changed("memory", "vmhwm_bytes", to=10**30), FailureKind.MALFORMED_OUTPUT),
        (changed("event", to="\x1b[2Jmeasurement"), FailureKind.MALFORMED_OUTPUT),
        (GOOD * 2, FailureKind.DOUBLED_MEASUREMENT),
        (b"", FailureKind.MISSING_MEASUREMENT),
    ],
)
def test_a_line_that_is_no_event_is_a_failure_with_a_detail_that_can_be_shown(
    line: bytes, kind: FailureKind
) -> None:
    _, failure = read(line)
    assert failure is not None
    assert failure.kind is kind
    assert failure.detail.isprintable()
    assert len(failure.detail) < 500
    content_hash(failure.detail)


@given(st.lists(st.binary(max_size=60) | st.sampled_from([GOOD, GOOD[:-3], b"\n", b"{}\n"]), max_size=6))
def test_any_bytes_give_a_figure_that_a_record_can_hold_or_a_reason(chunks: list[bytes]) -> None:
    reader, failure = read(*chunks)
    assert failure is not None or CASE in reader.measurements
    for measurement in reader.measurements.values():
        assert schema(SCHEMA, "measurement").allows(measurement)


@pytest.mark.parametrize("line", [b"{}\n", b"\n", b'{"event":"progress"}\n', b"x" * 1000 + b"\n", GOOD])
def test_megabytes_of_lines_are_judged_in_seconds(line: bytes) -> None:
    chunk = line * (2**16 // len(line))
    started = time.thread_time()
    read(*[chunk] * (4 * 2**20 // len(chunk)))
    # Of the processor's time; a sixteenth of all that a launch may print.
    assert time.thread_time() - started < 10


def test_a_million_figures_are_judged_in_seconds() -> None:
    line = changed("metrics", "seconds", to=[1e-6] * 1_000_000)
    started = time.thread_time()
    reader, failure = read(line)
    assert failure is None
    assert len(reader.measurements[CASE]["metrics"]["seconds"]) == 1_000_000
    assert time.thread_time() - started < 10
