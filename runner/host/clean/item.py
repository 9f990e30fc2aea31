"""What ``clean`` finds: things that would go, and what stays, in words."""

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Item:
    """One thing that would go.

    Attributes:
        name: how a person knows it.
        count: how many things it stands for.
        size_bytes: what it takes; None where that is not known.
        remove: removes it; returns why it could not, or None.
    """

    name: str
    count: int = 1
    size_bytes: int | None = None
    remove: Callable[[], str | None]


@dataclass(frozen=True, kw_only=True)
class Area:
    """One kind of things, in the order in which they would go; ``stays`` says what of it would not, and why."""

    name: str
    items: tuple[Item, ...] = ()
    stays: tuple[str, ...] = ()
