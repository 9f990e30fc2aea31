"""Which modules an implementation in Python would look for in vain: read from its sources, which are not executed."""

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

_SECONDS = 20.0

# Run by the implementation's own interpreter, which may be another than ours. It follows the imports that stand at
# the top of our own modules; of any other package it only asks whether it is there: importing PyTorch takes seconds.
# An import inside try, if or a function may have a substitute, and is left to the launch itself.
_SCRIPT = """
import ast, importlib.util, json, sys

def spec_of(name):
    try:
        return importlib.util.find_spec(name)
    except (ImportError, ValueError, AttributeError):
        return None

def imported(tree, package):
    for node in tree.body:
        if isinstance(node, ast.Import):
            for each in node.names:
                yield each.name
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                parts = package.split(".")
                base = ".".join(parts[:len(parts) - node.level + 1] + ([base] if base else []))
            yield base
            for each in node.names:
                if base.split(".")[0] == first and spec_of(base + "." + each.name) is not None:
                    yield base + "." + each.name

start = sys.argv[1]
first = start.split(".")[0]
queue, seen, missing = [start], set(), []
while queue:
    name = queue.pop()
    if name.split(".")[0] != first:
        name = name.split(".")[0]
    if not name or name in seen:
        continue
    seen.add(name)
    spec = spec_of(name)
    if spec is None:
        missing.append(name)
    elif name.split(".")[0] == first:
        if spec.submodule_search_locations is not None and name == start:
            queue.append(name + ".__main__")
        if spec.origin is not None and spec.origin.endswith(".py"):
            try:
                with open(spec.origin, "rb") as file:
                    tree = ast.parse(file.read())
            except (OSError, SyntaxError, ValueError):
                continue
            package = name if spec.submodule_search_locations is not None else name.rpartition(".")[0]
            queue += imported(tree, package)
print(json.dumps(sorted(missing)))
"""


def missing_modules(command: Sequence[str], environment: Mapping[str, str]) -> tuple[str, ...]:
    """The modules that ``python -m MODULE`` imports at its top and that are not there.

    Args:
        command: an implementation's; whatever is not of that form has none missing, as far as can be told.
        environment: what the launch would get.
    """
    match command:
        case [program, "-m", module, *_] if Path(program).name.startswith("python"):
            return _missing(program, module, tuple(sorted(environment.items())))
    return ()


@cache
def _missing(program: str, module: str, environment: tuple[tuple[str, str], ...]) -> tuple[str, ...]:
    try:
        result = subprocess.run(
            [program, "-c", _SCRIPT, module],
            env=dict(environment),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_SECONDS,
            check=False,
        )
        found = json.loads(result.stdout)
    except (OSError, ValueError, subprocess.TimeoutExpired):
        # It could not be told: the launch itself will.
        return ()
    return tuple(str(each) for each in found) if isinstance(found, list) else ()


def own_python_first(environment: Mapping[str, str]) -> dict[str, str]:
    """``environment`` in which ``python3`` is the Python that runs this runner, with the packages that it has."""
    directory = str(Path(sys.executable).parent)
    path = environment.get("PATH", "")
    return {**environment, "PATH": f"{directory}:{path}" if path else directory}
