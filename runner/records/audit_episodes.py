"""The episodes: they follow one another without a gap, and the gate's word on them follows from them."""

from collections.abc import Iterator

from runner.records.contradiction import Contradiction, Rule, contradiction
from runner.records.record import Record
from runner.records.verdicts import episodes_verdict


def judged(record: Record) -> Iterator[Contradiction]:
    """A record holds the episodes that passed the gate's check, and no others."""
    check = next((each for each in record.gate if each.check == "episodes"), None)
    if record.episodes is None:
        if check is not None and check.passed:
            yield contradiction(f'the gate says "{check.detail}", and the record holds none', *_FIELDS)
        return
    if check is None:
        yield contradiction("the record holds episodes that the gate did not judge", *_FIELDS)
        return
    environments = record.parameters.get("environments", 1)
    found = episodes_verdict(
        record.episodes,
        environments=environments if isinstance(environments, int) else 1,
        total=record.expected_counts.get("environment_steps"),
    )
    if (check.passed, check.detail) != found:
        yield contradiction(
            f'the gate says "{check.detail}" of the episodes, and they are "{found.detail}"', *_FIELDS
        )


_FIELDS = ("gate", "episodes")


RULES: tuple[Rule, ...] = (judged,)
