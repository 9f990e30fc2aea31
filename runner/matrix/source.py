"""YAML read safely, with the line of every key and value kept.

The data are plain dictionaries and lists of texts, booleans, nulls and finite numbers. ``lines`` maps a path of keys
and indices to the line of that key, counted from 1. So every later fault can name its line. Parsing any text takes
seconds and megabytes at most.
"""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import yaml
from yaml.composer import Composer

from runner.matrix.faults import Fault

Path = tuple[str | int, ...]

if TYPE_CHECKING or not yaml.__with_libyaml__:
    _Loader = yaml.SafeLoader
else:

    class _Loader(Composer, yaml.CSafeLoader):
        """libyaml parses, seven times as fast as Python. Python composes: text that nests without end is an error."""

        def __init__(self, text: str) -> None:
            yaml.CSafeLoader.__init__(self, text)
            Composer.__init__(self)


# Without libyaml the parser reads about 100 kB a second. A usual matrix has 5 kB, and its depth is seven.
MOST_BYTES = 256 * 2**10
# Aliases can expand a short text without end, so this bounds the number of parts.
_DEEPEST = 20
_MOST_PARTS = 20_000
_MOST_CHARACTERS = 2**20
_LONGEST_KEY = 200
# No matrix needs longer numbers, and YAML's base 60 makes them slow to parse.
_LONGEST_NUMBER = 40
# The largest integer that JSON readers of every language accept.
_LARGEST_INTEGER = 2**63 - 1
# Control characters except tabs and line ends, characters that reorder text, and lone surrogates.
_NO_TEXT = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)
_TAG = "tag:yaml.org,2002:"
_PLAIN = frozenset({"str", "int", "float", "bool", "null", "timestamp"})


@dataclass(frozen=True)
class Source:
    """A document, the line of each of its parts, and the faults of its form."""

    data: Any
    lines: Mapping[Path, int]
    faults: tuple[Fault, ...]

    def line_of(self, path: Path) -> int:
        """The line of ``path``, or of its nearest ancestor that is in the document."""
        while path and path not in self.lines:
            path = path[:-1]
        return self.lines.get(path, 1)


def read_source(text: str) -> Source:
    """Parse ``text``. Faults of form (syntax, a key given twice, its size) are collected, not raised."""
    data = None
    # The loader builds plain data only: no tag can name a Python type.
    try:
        loader = _Loader(text)
    except (yaml.YAMLError, ValueError) as error:
        # Half of a surrogate pair is a ValueError.
        return Source(data=None, lines={}, faults=(Fault(line=1, key="", message=f"not YAML: {error}"),))
    reader = _Reader(loader)
    try:
        node = loader.get_single_node()
        if node is not None:
            data = reader.value(node, ())
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        reader.fault(mark.line + 1 if mark else 1, (), f"not YAML: {error.problem}")
    except (yaml.YAMLError, ValueError) as error:
        # An escape such as \UFFFFFFFF is a ValueError of the parser.
        reader.fault(1, (), f"not YAML: {error}")
    except (_TooLarge, RecursionError):
        reader.fault(1, (), "nested too deeply or too large to be a matrix")
    finally:
        loader.dispose()
    return Source(data=data, lines=reader.lines, faults=tuple(reader.faults))


class _TooLarge(Exception):
    """The text has more parts, or a greater depth, than any matrix."""


@dataclass
class _Reader:
    """Turn the parser's nodes into data, and count the parts."""

    loader: _Loader
    lines: dict[Path, int] = field(default_factory=dict)
    faults: list[Fault] = field(default_factory=list)
    characters: int = 0

    def fault(self, line: int, path: Path, message: str) -> None:
        self.faults.append(Fault(line=line, key=".".join(str(part) for part in path), message=message))

    def value(self, node: yaml.Node, path: Path) -> Any:
        if len(path) > _DEEPEST or len(self.lines) > _MOST_PARTS:
            raise _TooLarge
        self.lines.setdefault(path, node.start_mark.line + 1)
        if isinstance(node, yaml.MappingNode):
            return self._mapping(node, path)
        if isinstance(node, yaml.SequenceNode):
            return [self.value(item, (*path, index)) for index, item in enumerate(node.value)]
        self._count(node.value)
        try:
            return self._scalar(node)
        except ValueError as error:
            self.fault(node.start_mark.line + 1, path, str(error))
            return None

    def _mapping(self, node: yaml.MappingNode, path: Path) -> dict[str, Any]:
        result: dict[str, Any] = {}
        for key_node, value_node in node.value:
            line = key_node.start_mark.line + 1
            if not isinstance(key_node, yaml.ScalarNode) or len(key_node.value) > _LONGEST_KEY:
                self.fault(line, path, "a key here is no name, or a very long one")
                continue
            # Keys such as 8x128 or 2048 are names, even where YAML reads a bare scalar as a number.
            key = str(key_node.value)
            self._count(key)
            if not _is_text(key):
                self.fault(line, path, "a key here holds a character that is not text")
                continue
            if key in result:
                self.fault(line, (*path, key), "this key is given twice; keep one")
                continue
            self.lines[(*path, key)] = line
            result[key] = self.value(value_node, (*path, key))
        return result

    def _count(self, text: str) -> None:
        self.characters += len(text)
        if self.characters > _MOST_CHARACTERS:
            raise _TooLarge

    def _scalar(self, node: yaml.Node) -> Any:
        """The value of a scalar.

        Raises:
            ValueError: a matrix does not use this kind of value, or the value does not fit its tag.
        """
        kind = node.tag.removeprefix(_TAG)
        if kind not in _PLAIN:
            raise ValueError(f"a value of the kind {kind} is of no use here")
        if kind in ("int", "float") and len(node.value) > _LONGEST_NUMBER:
            raise ValueError("this number is too long; put it in quotes if it is text")
        try:
            value = self.loader.construct_object(node)
        except (ValueError, KeyError, IndexError, AttributeError, OverflowError) as error:
            # The parser raises this error where a tag does not fit its text.
            raise ValueError(f"this is no {kind}") from error
        if isinstance(value, str) and not _is_text(value):
            raise ValueError(
                "this holds a character that is not text: a control character, or half of a surrogate pair"
            )
        if isinstance(value, float) and not math.isfinite(value):
            raise ValueError("this is not a finite number")
        if isinstance(value, int) and abs(value) > _LARGEST_INTEGER:
            raise ValueError(f"this number is beyond {_LARGEST_INTEGER}")
        return value


def _is_text(value: str) -> bool:
    """Whether a process can receive a text, a file can hold it and a terminal can show it.

    YAML escapes can spell other characters.
    """
    return _NO_TEXT.search(value) is None
