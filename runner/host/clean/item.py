"""The findings of ``clean``: things to remove, and texts about what stays."""

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Item:
    """One thing to remove.

    Attributes:
        name: its name for people.
        count: how many things it stands for.
        size_bytes: its size on the disk; None where unknown.
        remove: removes it; returns why it could not, or None.
    """

    name: str
    count: int = 1
    size_bytes: int | None = None
    remove: Callable[[], str | None]


@dataclass(frozen=True, kw_only=True)
class Area:
    """One kind of things, in the order of removal. ``stays`` says what would stay, and why."""

    name: str
    items: tuple[Item, ...] = ()
    stays: tuple[str, ...] = ()
