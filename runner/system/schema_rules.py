"""The rules of a schema that the compiled functions and the library must read alike."""

import json
import re
from datetime import datetime
from typing import Any


def is_integer(value: Any) -> bool:
    """Whether a value is an integer by its type, not by its value."""
    return type(value) is int


def pattern_of(pattern: str) -> re.Pattern[str]:
    """A pattern of JSON Schema. Its ``$`` means the end of the text."""
    return re.compile(pattern[:-1] + r"\Z" if pattern.endswith("$") else pattern)


def is_unique(items: list[Any]) -> bool:
    """Whether no item occurs twice. The time grows only with the number of items."""
    return len({json.dumps(item, sort_keys=True, default=str) for item in items}) == len(items)


def is_date_time(value: Any) -> bool:
    """Whether a text is a date and a time with a zone. A value that is not text passes."""
    if not isinstance(value, str):
        return True
    try:
        return datetime.fromisoformat(value).tzinfo is not None
    except ValueError:
        return False
