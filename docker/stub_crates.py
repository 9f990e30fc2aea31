"""Copies a Cargo workspace's manifests and replaces every source file that Cargo looks for by a stub.

The result changes only when a manifest or the lock does, so the layer that compiles the dependencies is kept while
our own crates change.
"""

import shutil
import sys
from pathlib import Path

LIBRARY = "//! A stub.\n"
PROGRAM = "//! A stub.\nfn main() {}\n"


def main(workspace: Path, target: Path) -> None:
    """Write the stubbed workspace to ``target``."""
    for path in sorted(workspace.rglob("*")):
        copy = target / path.relative_to(workspace)
        stub = None
        if path.name in ("Cargo.toml", "Cargo.lock"):
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, copy)
        elif path.name == "lib.rs" and path.parent.name == "src":
            stub = LIBRARY
        elif path.suffix == ".rs" and (
            path.name in ("main.rs", "build.rs")
            or path.parent.name in ("bin", "benches", "examples", "tests")
        ):
            stub = PROGRAM
        if stub is not None:
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_text(stub, encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
