"""A contradiction within a record, and the form of the rules that find them."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from runner.records.record import Record

# Sums of floats round.
ROUNDING = 1 + 1e-6


@dataclass(frozen=True, kw_only=True)
class Contradiction:
    """Fields of a record that cannot all be true.

    Attributes:
        fields: by their paths.
        why: one sentence with their values and with what follows from them.
    """

    fields: tuple[str, ...]
    why: str

    def __str__(self) -> str:
        return f"{self.why} ({', '.join(self.fields)})"


Rule = Callable[[Record], Iterator[Contradiction]]


def contradiction(why: str, *fields: str) -> Contradiction:
    """A contradiction between these fields."""
    return Contradiction(fields=fields, why=why)
