"""A launch that ended badly keeps its reason, whatever it said before."""

from example_records import make_record
from msgspec.structs import replace

from runner.records.audit import audit
from runner.records.record import sealed
from runner.running.recording import _sound


def test_a_crash_is_not_hidden_by_a_figure_that_cannot_be_true():
    odd = make_record(metrics={"seconds": [1e-3], "compile_seconds": 0.0})
    crashed = make_record(failure=("signal", "killed by signal 11 (SIGSEGV)"))
    record = sealed(replace(crashed, measurement=odd.measurement))
    assert audit(record)
    kept = _sound(record)
    assert kept.failure is not None
    assert (kept.failure.kind, kept.measurement) == ("signal", None)
    refused = _sound(odd)
    assert refused.failure is not None
    assert refused.failure.kind == "malformed-output"
