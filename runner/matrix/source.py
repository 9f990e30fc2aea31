"""YAML read safely, with the line of every key and value kept.

The data comes out as plain dictionaries and lists; ``lines`` maps a path of keys and indices to the line
(counted from 1) where that key stands, so that every later fault can point at it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import yaml

from runner.matrix.faults import Fault

Path = tuple[str | int, ...]

# Anchors can make a short text unfold without end; a matrix of ours has some hundred parts and a depth of seven.
_DEEPEST = 20
_MOST_PARTS = 100_000


@dataclass(frozen=True)
class Source:
    """A document, where each of its parts stands, and what was wrong with its form."""

    data: Any
    lines: Mapping[Path, int]
    faults: tuple[Fault, ...]

    def line_of(self, path: Path) -> int:
        """The line of ``path``, or of its nearest ancestor that is in the document."""
        while path and path not in self.lines:
            path = path[:-1]
        return self.lines.get(path, 1)


def read_source(text: str) -> Source:
    """Parse ``text``. Faults of form (syntax, a key given twice) are collected, not raised."""
    lines: dict[Path, int] = {}
    faults: list[Fault] = []
    # SafeLoader builds plain data only: no tag can name a Python type.
    data = None
    try:
        loader = yaml.SafeLoader(text)
        try:
            node = loader.get_single_node()
            if node is not None:
                data = _convert(node, (), loader, lines, faults)
        finally:
            loader.dispose()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        faults.append(Fault(line=mark.line + 1 if mark else 1, key="", message=f"not YAML: {error.problem}"))
    except (yaml.YAMLError, ValueError) as error:
        faults.append(Fault(line=1, key="", message=f"not YAML: {' '.join(str(error).split())}"))
    return Source(data=data, lines=lines, faults=tuple(faults))


def _convert(
    node: yaml.Node, path: Path, loader: yaml.SafeLoader, lines: dict[Path, int], faults: list[Fault]
) -> Any:
    if len(path) > _DEEPEST or len(lines) > _MOST_PARTS:
        raise ValueError("nested too deeply or too large to be a matrix")
    lines.setdefault(path, node.start_mark.line + 1)
    if isinstance(node, yaml.MappingNode):
        result: dict[str, Any] = {}
        for key_node, value_node in node.value:
            # Names such as 8x128 or 2048 are names, whatever YAML takes a bare scalar for.
            key = str(key_node.value) if isinstance(key_node, yaml.ScalarNode) else "?"
            line = key_node.start_mark.line + 1
            if key in result:
                faults.append(
                    Fault(line=line, key=_dotted((*path, key)), message="this key is given twice; keep one")
                )
                continue
            lines[(*path, key)] = line
            result[key] = _convert(value_node, (*path, key), loader, lines, faults)
        return result
    if isinstance(node, yaml.SequenceNode):
        return [
            _convert(item, (*path, index), loader, lines, faults) for index, item in enumerate(node.value)
        ]
    return loader.construct_object(node)


def _dotted(path: Path) -> str:
    return ".".join(str(part) for part in path)
