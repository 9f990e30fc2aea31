"""Which records are ranked by what the referee saw of their window."""

import pytest
from example_records import example_work, make_record, referee_facts
from msgspec import convert
from msgspec.structs import replace

from runner.records.work import WorkFacts


def refereed(implementation: str, between: float):
    facts = referee_facts(repetitions=100, between_seconds=between)
    record = make_record(benchmark="gae", implementation=implementation)
    return replace(record, referee=facts, work=convert(example_work(), WorkFacts))


@pytest.mark.parametrize(("between", "judged"), [(0.5, True), (0.51, False)])
def test_a_competitor_whose_window_was_mostly_not_timed_is_not_ranked(between: float, judged: bool) -> None:
    assert refereed("rust", between).judged is judged
    # A reference is bounded by nothing.
    assert refereed("numpy", between).judged


def test_an_operation_that_is_not_repeated_is_not_ranked() -> None:
    record = refereed("rust", 0.0)
    assert record.judged
    once = replace(record, parameters={**record.parameters, "repetitions": 1})
    assert not once.judged
    assert not replace(
        record, parameters={name: each for name, each in record.parameters.items() if name != "repetitions"}
    ).judged
