"""The content key follows from what the record holds: its work, its cell, its image, its machine."""

from collections.abc import Iterator

from runner.records.contradiction import Contradiction, Rule, contradiction
from runner.records.key import key_of
from runner.records.record import Record


def key(record: Record) -> Iterator[Contradiction]:
    """The key is the hash of the content that it stands for. The first schema does not hold that content."""
    if not record.work:
        return
    found = key_of(record, record.work)
    if found is not None and found != record.key:
        yield contradiction(
            f"the content gives the key {found[:16]}..., and the record says {record.key[:16]}...",
            *("key", "cell", "parameters", "command", "work", "execution", "image", "launch.executor"),
            "machine",
        )


RULES: tuple[Rule, ...] = (key,)
