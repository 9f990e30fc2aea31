"""How many cells a change voids: a cell runs again where its content key differs from that at another commit.

    python -m tools.voided_cells origin/main      # this checkout, its files as they are, against a commit

Keys are those of one invented machine, so that any machine gives the same answer. The other commit's keys are made by its
own runner, in a work tree that is removed afterwards.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
_MACHINE = {"cpu_model": "any", "architecture": "amd64", "logical_cpus": 8, "memory_bytes": 16}
Keys = Mapping[str, str]


def keys_of(root: Path) -> dict[str, str]:
    """The content key of each cell of each profile of a checkout, by the cell's names; made by its own runner."""
    command = [sys.executable, str(Path(__file__).resolve()), "--keys"]
    # -I of Python would hide the checkout; without it the folder of this file comes first, which holds no runner.
    environment = {"PYTHONPATH": str(root), "PATH": "/usr/bin:/bin", "PYTHONDONTWRITEBYTECODE": "1"}
    made = subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True, check=False)
    if made.returncode != 0:
        last = (made.stderr.strip().splitlines() or ["it says nothing"])[-1]
        raise SystemExit(f"voided_cells: the keys of {root} cannot be made: {last}")
    keys: dict[str, str] = json.loads(made.stdout)
    return keys


def report(before: Keys, now: Keys) -> str:
    """What becomes of the cells, by profile and benchmark."""
    voided = [name for name in now if name in before and now[name] != before[name]]
    fresh, gone = now.keys() - before.keys(), before.keys() - now.keys()
    total = f"{len(voided)} of {len(before)} cells run again; {len(fresh)} are new, {len(gone)} are gone"
    counts = Counter(" ".join(name.split()[:2]) for name in voided)
    every = Counter(" ".join(name.split()[:2]) for name in before)
    return "\n".join(
        [total, *(f"  {name}: {count} of {every[name]}" for name, count in sorted(counts.items()))]
    )


def main() -> None:
    """Print the report."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("commit", nargs="?", help="what this checkout is compared with, such as origin/main")
    parser.add_argument("--keys", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.keys:
        print(json.dumps(_keys_here()))
        return
    if options.commit is None:
        parser.error("name a commit, such as origin/main")
    with tempfile.TemporaryDirectory(prefix="forge-bench-voided-") as folder:
        tree = Path(folder) / "tree"
        _git("worktree", "add", "--detach", "--quiet", str(tree), options.commit)
        try:
            print(report(keys_of(tree), keys_of(ROOT)))
        finally:
            _git("worktree", "remove", "--force", str(tree))


def _git(*words: str) -> None:
    done = subprocess.run(["git", "-C", str(ROOT), *words], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"voided_cells: git {words[0]} {words[1]} failed: {done.stderr.strip()}")


def _keys_here() -> dict[str, str]:
    """The keys of the checkout in the working directory, whose runner is the one that is imported."""
    from runner.images.identity import identify  # noqa: PLC0415 (of the other checkout, perhaps)
    from runner.images.spec import ImageSpec  # noqa: PLC0415 (as above)
    from runner.matrix import load_matrix  # noqa: PLC0415 (as above)
    from runner.planning.cells import Selection, content_key, select  # noqa: PLC0415 (as above)
    from runner.records.execution import Execution, ExecutionKind  # noqa: PLC0415 (as above)

    root = Path.cwd()
    matrix = load_matrix(root / "matrix.yaml")
    executions = {
        name: Execution(kind=ExecutionKind.NATIVE, emulator=None)
        if platform.architecture == _MACHINE["architecture"]
        else Execution(kind=ExecutionKind.EMULATED, emulator="any")
        for name, platform in matrix.platforms.items()
    }
    hashes: dict[ImageSpec, str] = {}
    keys: dict[str, str] = {}
    for profile in matrix.profiles:
        for cell in select(matrix, Selection(profile=profile), executions):
            implementation, platform = cell.implementation, cell.platform
            if _left_out(cell) is not None:
                continue
            spec = ImageSpec(
                target=implementation.image, architecture=platform.architecture, toolchain=cell.toolchain
            )
            if spec not in hashes:
                hashes[spec] = identify(spec, root).execution_hash
            keys[_name(profile, cell)] = content_key(
                cell,
                execution_hash=hashes[spec],
                execution=executions[platform.name],
                executor="docker",
                machine=_MACHINE,
            )
    return keys


def _left_out(cell: Any) -> str | None:
    """Why the matrix excludes a cell; a runner without ``Cell.left_out`` asks the implementation by three names."""
    names = (cell.platform.name, cell.case.name, cell.limits.name)
    why: str | None = cell.left_out if hasattr(cell, "left_out") else cell.implementation.left_out(*names)
    return why


def _name(profile: str, cell: Any) -> str:
    return " ".join((profile, *map(str, cell.names().values())))


if __name__ == "__main__":
    main()
