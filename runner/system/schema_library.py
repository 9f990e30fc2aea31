"""The library's validators. They read patterns, unique items and whole numbers as `runner.system.schema` does."""

from collections.abc import Iterator
from typing import Any

from jsonschema import Draft202012Validator, FormatChecker
from jsonschema.exceptions import ValidationError
from jsonschema.protocols import Validator
from jsonschema.validators import extend

from runner.system.schema_rules import is_date_time, is_integer, is_unique, pattern_of


def validator(root: Any) -> Validator:
    """A validator of the schema ``root``."""
    made: Validator = _Validator(root, format_checker=_FORMATS)
    return made


def _pattern_faults(validator: Any, rule: str, value: Any, of: Any) -> Iterator[ValidationError]:
    del validator, of
    if isinstance(value, str) and pattern_of(rule).search(value) is None:
        yield ValidationError(f"{value!r} does not match {rule!r}")


def _unique_faults(validator: Any, rule: bool, value: Any, of: Any) -> Iterator[ValidationError]:
    """The library compares every pair of unsortable items, which takes hours for a long list. This rule does not."""
    del validator, of
    if rule and isinstance(value, list) and not is_unique(value):
        yield ValidationError("has the same item twice")


_Validator = extend(  # type: ignore[no-untyped-call]  # its stubs lack it
    Draft202012Validator,
    {"pattern": _pattern_faults, "uniqueItems": _unique_faults},
    type_checker=Draft202012Validator.TYPE_CHECKER.redefine("integer", lambda _, value: is_integer(value)),
)
_FORMATS = FormatChecker(formats=())
_FORMATS.checks("date-time")(is_date_time)
