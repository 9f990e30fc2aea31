"""How many examples a property is tried with: few with every change, many once a week."""

from typing import Any

from hypothesis import settings

WEEKLY = "weekly"
_TIMES = 20
# Hypothesis's own number, where a property names none.
_USUAL = 100


def register() -> None:
    """Register both profiles; ``pytest --hypothesis-profile=weekly`` chooses the longer one."""
    # How long an example takes says how busy the machine is, not whether a property holds.
    settings.register_profile("short", deadline=None)
    settings.register_profile(WEEKLY, deadline=None, max_examples=_TIMES * _USUAL)
    settings.load_profile("short")


def examples(count: int, **others: Any) -> settings:
    """Try a property with ``count`` examples, and with many times as many in the weekly run."""
    times = _TIMES if settings.get_current_profile_name() == WEEKLY else 1
    return settings(max_examples=times * count, **others)
