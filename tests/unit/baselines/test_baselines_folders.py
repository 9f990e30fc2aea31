"""What a folder of `baselines/` may import: folders below it, and never the runner."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import baselines

FOLDER = Path(baselines.__file__).parent
BELOW: dict[str, tuple[str, ...]] = {
    "contract": (),
    "inputs": ("contract",),
    "benchmarks": ("contract", "inputs"),
    "references": ("contract", "inputs", "benchmarks"),
    "tuned": ("contract", "inputs", "benchmarks", "references"),
    "peers": ("contract", "inputs", "benchmarks", "references"),
    "ours": ("contract", "inputs", "benchmarks", "references", "tuned"),
}
FILES = sorted(file for file in FOLDER.rglob("*.py") if ".venv" not in file.relative_to(FOLDER).parts)
# Their memory and their start would be PyTorch's too.
WITHOUT_PYTORCH = sorted(
    file
    for library in ("flashbax", "jax", "numba", "rltools")
    for file in (FOLDER / "peers").glob(f"*_{library}.py")
)


def imported(tree: ast.AST) -> Iterator[str]:
    """The full name of whatever a file imports, wherever in it."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "a relative import hides which folder it is from"
            yield from (f"{node.module}.{name.name}" for name in node.names)


def folders(tree: ast.AST) -> set[str]:
    names = (name.split(".") for name in imported(tree))
    return {parts[1] for parts in names if parts[0] == "baselines" and len(parts) > 1}


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.relative_to(FOLDER).as_posix())
def test_no_baseline_knows_the_runner_and_each_imports_from_its_folder_and_those_below(file: Path) -> None:
    tree = ast.parse(file.read_text(encoding="utf-8"))
    assert "runner" not in {name.split(".")[0] for name in imported(tree)}
    folder = file.relative_to(FOLDER).parts[0]
    assert folders(tree) <= {folder, *BELOW.get(folder, ())}


def below(file: Path) -> set[str]:
    """What a file and all baselines that it imports import from elsewhere."""
    elsewhere, files, waiting = set(), set(), [file]
    while waiting:
        this = waiting.pop()
        if this in files:
            continue
        files.add(this)
        for name in imported(ast.parse(this.read_text(encoding="utf-8"))):
            if name.partition(".")[0] != "baselines":
                elsewhere.add(name.partition(".")[0])
                continue
            parts = FOLDER.parent.joinpath(*name.split("."))
            # What is imported is a module, or stands in one.
            waiting += [each for path in (parts, parts.parent) if (each := path.with_suffix(".py")).exists()]
    return elsewhere


@pytest.mark.parametrize("file", WITHOUT_PYTORCH, ids=lambda file: file.stem)
def test_a_library_that_needs_no_pytorch_has_none_in_its_process(file: Path) -> None:
    found = below(file)
    assert "numpy" in found, "the walk ends too early"
    assert "torch" not in found


def test_pytorch_is_found_where_it_is_imported() -> None:
    assert "torch" in below(FOLDER / "peers" / "dqn_sb3.py")


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.relative_to(FOLDER).as_posix())
def test_no_baseline_changes_where_python_looks_for_modules(file: Path) -> None:
    changed = [
        node
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.Attribute) and node.attr == "path" and ast.unparse(node.value) == "sys"
    ]
    assert changed == []


def test_every_folder_has_its_place() -> None:
    found = {file.parent.name for file in FILES if file.parent != FOLDER}
    assert found == set(BELOW)


def test_an_import_from_above_is_seen_wherever_it_stands() -> None:
    text = "def late():\n    from baselines.tuned import dqn\n    import baselines.peers.dqn_sb3\n"
    assert folders(ast.parse(text)) == {"tuned", "peers"}
