"""The modules that a Python implementation imports and the host lacks. Its sources are read, not executed."""

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

_SECONDS = 20.0

# The implementation's interpreter runs this text, which may be another Python than the runner's. It follows the
# imports at the top of the implementation's own package. For other packages it only checks that they exist, because
# importing PyTorch takes seconds. An import inside try, if or a function may have a substitute, so the launch itself
# decides.
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
    """The modules that ``python -m MODULE`` imports at its top and that do not exist.

    Args:
        command: an implementation's command. A command of another form is assumed to miss no module.
        environment: the environment of the launch.
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
        # The check failed; the launch itself will show a missing module.
        return ()
    return tuple(str(each) for each in found) if isinstance(found, list) else ()


def own_python_first(environment: Mapping[str, str]) -> dict[str, str]:
    """``environment`` in which ``python3`` is the Python that runs this runner, with the packages that it has."""
    directory = str(Path(sys.executable).parent)
    path = environment.get("PATH", "")
    return {**environment, "PATH": f"{directory}:{path}" if path else directory}
