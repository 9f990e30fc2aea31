"""The counts: what was expected follows from the work, and the gate's word on them from both."""

import re
from collections.abc import Iterator

from runner.matrix.expressions import ExpressionError, evaluate
from runner.records.contradiction import Contradiction, Rule, contradiction
from runner.records.record import Record
from runner.records.verdicts import counts_verdict

# Between two counts: "a 1, b 2" where they are right, "a is 1, must be 2; b is 3, must be 4" where not.
_BETWEEN = re.compile(r"; |, (?!must be )")


def expected(record: Record) -> Iterator[Contradiction]:
    """The expected counts are the arithmetic of the work over the parameters."""
    if not record.work:
        return
    try:
        found = {name: evaluate(text, record.parameters) for name, text in record.work.counts.items()}
    except ExpressionError as error:
        yield contradiction(f"the counts cannot be worked out: {error}", "work.counts", "parameters")
        return
    if found != record.expected_counts:
        yield contradiction(
            f"the parameters give {_listed(found)}, and the record expects {_listed(record.expected_counts)}",
            *("expected_counts", "work.counts", "parameters"),
        )


def judged(record: Record) -> Iterator[Contradiction]:
    """The gate's check of the counts says what the counts say."""
    check = next((each for each in record.gate if each.check == "counts"), None)
    if check is None or record.measurement is None:
        return
    found = counts_verdict(record.expected_counts, record.counts)
    # A publication sorts the names; the gate named them in the order of the matrix.
    same_words = sorted(_parts(found.detail)) == sorted(_parts(check.detail))
    if found.passed != check.passed or not same_words:
        yield contradiction(
            f'the gate says "{check.detail}" of the counts, and they are "{found.detail}"',
            *("gate", "measurement.counts", "expected_counts"),
        )


def _parts(detail: str) -> list[str]:
    return _BETWEEN.split(detail)


def _listed(counts: dict[str, int]) -> str:
    return ", ".join(f"{name} {count}" for name, count in sorted(counts.items())) or "none"


RULES: tuple[Rule, ...] = (
    expected,
    judged,
)
