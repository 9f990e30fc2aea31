"""The schemas of runner/schemas: a fast yes or no, and the library's message for a no.

A general validator takes seconds for hundreds of records, so a schema is also compiled to plain functions. The
functions know the keywords that our schemas use, and refuse any other keyword. A property test checks that the
functions and the library agree.

In both, ``$`` at the end of a pattern means the end of the text, as JSON Schema has it. Python's ``$`` also matches
before a last newline, and a name that ends in a newline would become a path.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from functools import cache, cached_property
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from runner.system.printable import one_line
from runner.system.schema_rules import is_date_time, is_integer, is_unique, pattern_of

if TYPE_CHECKING:
    from jsonschema.exceptions import ValidationError
    from jsonschema.protocols import Validator

Check = Callable[[Any], bool]

_SAYS_NOTHING = frozenset({"$schema", "$id", "$defs", "title", "description"})
_OF_OBJECTS = frozenset(
    {"properties", "additionalProperties", "required", "propertyNames", "minProperties", "maxProperties"}
)
_OF_LISTS = frozenset({"items", "minItems", "maxItems", "uniqueItems"})
_LONGEST_FAULT = 300
# The most parts of a value that is only explained, not judged.
_MOST, _DEEPEST = 50, 12


class Schema:
    """One schema file, or one of its definitions.

    JSON writes an integer without a point. So 1.0 is not an integer, here and in the types that hold valid values.
    """

    def __init__(self, path: Path, definition: str | None = None) -> None:
        self._root = json.loads(path.read_text(encoding="utf-8"))
        if definition is not None:
            self._root = {"$defs": self._root["$defs"], "$ref": f"#/$defs/{definition}"}
        self._check = self._compile(self._root)

    def allows(self, value: Any) -> bool:
        """Whether ``value``, as a JSON parser returns it, is valid."""
        return self._check(value)

    def faults(self, value: Any) -> "Iterator[ValidationError]":
        """All faults of ``value``. This call is slow."""
        yield from self._validator.iter_errors(value)

    def why_not(self, value: Any) -> str:
        """One line on a fault of a value that `allows` refused. This call is fast for every value."""
        for error in self._validator.iter_errors(_sample(value)):
            deepest = min(error.context or [error], key=lambda each: -len(each.absolute_path))
            where = ".".join(str(part) for part in deepest.absolute_path)
            return one_line(f"{where}: {deepest.message}" if where else deepest.message, _LONGEST_FAULT)
        return "too long, or wrong in a part beyond the first ones"

    @cached_property
    def _validator(self) -> "Validator":
        # The import stands here because loading the library takes longer than judging all valid values.
        from runner.system.schema_library import validator  # noqa: PLC0415

        return validator(self._root)

    def _compile(self, schema: Any) -> Check:
        """One function for ``schema``.

        Raises:
            NotImplementedError: the schema uses a keyword that this module does not know.
        """
        if isinstance(schema, bool):
            return lambda _: schema
        checks: list[Check] = []
        if "type" in schema:
            checks.append(self._type(schema["type"]))
        if schema.keys() & _OF_OBJECTS:
            checks.append(self._object(schema))
        if schema.keys() & _OF_LISTS:
            checks.append(self._list(schema))
        for keyword, rule in schema.items():
            if keyword not in _SAYS_NOTHING | _OF_OBJECTS | _OF_LISTS | {"type"}:
                checks.append(self._other(keyword, rule))
        match checks:
            case []:
                return lambda _: True
            case [only]:
                return only
            case [first, second]:
                return lambda value: first(value) and second(value)
            case _:
                return lambda value: all(check(value) for check in checks)

    def _type(self, rule: str | list[str]) -> Check:
        if isinstance(rule, str):
            return _TYPES[rule]
        any_of = [_TYPES[each] for each in rule]
        return lambda value: any(check(value) for check in any_of)

    def _object(self, schema: Mapping[str, Any]) -> Check:
        known = {name: self._compile(each) for name, each in schema.get("properties", {}).items()}
        others = self._compile(schema.get("additionalProperties", True))
        names = self._compile(schema["propertyNames"]) if "propertyNames" in schema else None
        required = frozenset(schema.get("required", ()))
        least, most = schema.get("minProperties", 0), schema.get("maxProperties", float("inf"))

        def check(value: Any) -> bool:
            if not isinstance(value, dict):
                return True
            if not least <= len(value) <= most or not required <= value.keys():
                return False
            if names is not None and not all(map(names, value)):
                return False
            return all(known.get(key, others)(each) for key, each in value.items())

        return check

    def _list(self, schema: Mapping[str, Any]) -> Check:
        item = self._compile(schema.get("items", True))
        least, most = schema.get("minItems", 0), schema.get("maxItems", float("inf"))
        unique = schema.get("uniqueItems", False)

        def check(value: Any) -> bool:
            if not isinstance(value, list):
                return True
            if not least <= len(value) <= most:
                return False
            return all(map(item, value)) and (not unique or is_unique(value))

        return check

    def _other(self, keyword: str, rule: Any) -> Check:  # noqa: PLR0911 (a keyword a line)
        match keyword:
            case "$ref":
                return self._compile(self._resolve(rule))
            case "enum":
                allowed = [_constant(each) for each in rule]
                return lambda value: any(check(value) for check in allowed)
            case "const":
                return _constant(rule)
            case "oneOf" | "anyOf":
                choices = [self._compile(each) for each in rule]
                most = 1 if keyword == "oneOf" else len(choices)
                return lambda value: 1 <= sum(check(value) for check in choices) <= most
            case "pattern":
                search = pattern_of(rule).search
                return lambda value: not isinstance(value, str) or search(value) is not None
            case "minLength":
                return lambda value: not isinstance(value, str) or len(value) >= rule
            case "maxLength":
                return lambda value: not isinstance(value, str) or len(value) <= rule
            case "minimum":
                return lambda value: not _is_number(value) or value >= rule
            case "maximum":
                return lambda value: not _is_number(value) or value <= rule
            case "exclusiveMinimum":
                return lambda value: not _is_number(value) or value > rule
            case "format" if rule == "date-time":
                return is_date_time
            case _:
                raise NotImplementedError(f"the keyword {keyword}: {rule}")

    def _resolve(self, reference: str) -> Any:
        found: Any = self._root
        for part in reference.removeprefix("#/").split("/"):
            found = found[part]
        return found


@cache
def schema(path: Path, definition: str | None = None) -> Schema:
    """The schema at ``path``, read and compiled once."""
    return Schema(path, definition)


def _sample(value: Any, depth: int = 0) -> Any:
    """The beginning of a value: for a million wrong items the library would make a million objects."""
    if isinstance(value, str):
        return value[:_LONGEST_FAULT]
    if isinstance(value, dict | list) and depth > _DEEPEST:
        return None
    if isinstance(value, dict):
        return {key[:_LONGEST_FAULT]: _sample(each, depth + 1) for key, each in islice(value.items(), _MOST)}
    if isinstance(value, list):
        return [_sample(each, depth + 1) for each in value[:_MOST]]
    return value


def _is_number(value: Any) -> bool:
    return type(value) is float or type(value) is int


_TYPES: Mapping[str, Check] = {
    "object": lambda value: isinstance(value, dict),
    "array": lambda value: isinstance(value, list),
    "string": lambda value: isinstance(value, str),
    "number": _is_number,
    "integer": is_integer,
    "boolean": lambda value: isinstance(value, bool),
    "null": lambda value: value is None,
}


def _constant(wanted: Any) -> Check:
    """Whether two JSON values are equal; true does not equal 1."""
    return lambda value: value == wanted and isinstance(value, bool) == isinstance(wanted, bool)
