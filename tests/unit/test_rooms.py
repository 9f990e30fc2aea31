"""The order of the runner's folders: each imports only from those before it, and no two files import each other."""

import ast
from collections.abc import Callable, Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from itertools import product
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
# Bottom up. Lazy imports and those for type checkers alone count as any other.
ROOMS = (
    *(
        "system",
        "matrix",
        "records",
        "daemon",
        "slurm",
        "images",
        "executors",
        "referee",
        "planning",
        "gate",
        "running",
        "fleet",
    ),
    *("figures", "report", "publishing", "verify", "bundles", "host", "cli"),
)
FILES = {
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path
    for path in sorted((ROOT / "runner").rglob("*.py"))
}


def imported(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in FILES)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: a relative import hides which folder it is from"
            for alias in node.names:
                module = f"{node.module}.{alias.name}"
                yield from (
                    name for name in ([module] if module in FILES else [node.module]) if name in FILES
                )


@cache
def imports() -> dict[str, set[str]]:
    """What each file imports; read by the worker that runs these tests, not by each that collects them."""
    return {name: set(imported(path)) for name, path in FILES.items()}


def room(module: str) -> str:
    return module.split(".")[1] if "." in module else ""


def test_every_module_lives_in_a_room_of_the_order():
    assert {room(name) for name in FILES} - {"", "__main__"} == set(ROOMS)
    assert {path.name for path in (ROOT / "runner").glob("*.py")} == {"__init__.py", "__main__.py"}


@pytest.mark.parametrize("own", ROOMS)
def test_a_room_imports_only_from_those_below_it(own: str):
    above = ROOMS[ROOMS.index(own) + 1 :]
    wrong = [
        f"{name} imports {each}"
        for name, modules in imports().items()
        if room(name) == own
        for each in sorted(modules)
        if room(each) in above
    ]
    assert not wrong, "\n".join(wrong)


def folders(depth: int) -> dict[str, set[str]]:
    """What each folder of this depth imports of the others."""

    def folder(name: str) -> str:
        package = name if FILES[name].name == "__init__.py" else name.rpartition(".")[0]
        return ".".join(package.split(".")[:depth])

    found: dict[str, set[str]] = {folder(name): set() for name in FILES}
    for name, modules in imports().items():
        found[folder(name)] |= {folder(each) for each in modules} - {folder(name)}
    return found


@pytest.mark.parametrize(
    "graph", [imports, lambda: folders(2), lambda: folders(3)], ids=["files", "rooms", "folders"]
)
def test_no_two_import_each_other_by_whatever_way(graph: Callable[[], dict[str, set[str]]]):
    try:
        TopologicalSorter(graph()).prepare()
    except CycleError as error:
        pytest.fail(f"a circle: {' <- '.join(error.args[1])}")


def test_the_parts_know_nothing_of_one_another():
    parts = {"runner": ("baselines", "torch", "tests", "tools"), "baselines": ("runner", "tests", "tools")}
    wrong = []
    for part, forbidden in parts.items():
        for path, name in product((ROOT / part).rglob("*.py"), forbidden):
            text = ast.parse(path.read_text())
            modules = [node.module or "" for node in ast.walk(text) if isinstance(node, ast.ImportFrom)]
            modules += [a.name for node in ast.walk(text) if isinstance(node, ast.Import) for a in node.names]
            wrong += [f"{path} imports {name}" for each in modules if each.split(".")[0] == name]
    assert not wrong, "\n".join(wrong)
