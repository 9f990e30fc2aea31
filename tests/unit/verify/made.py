"""Records that real processes made, and the same with something changed and sealed anew, as a forger would."""

import copy
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from conftest import DOUBLER, program, small_matrix

from runner.cli import main
from runner.record import Record, seal
from runner.store import Store

# Within the gate's tolerance, and never the same bytes twice.
NOISY = "import os\nnoise = 1 + 1e-12 * os.urandom(1)[0]\n" + DOUBLER.replace("x * 2", "x * 2 * noise")


def steered(directory: Path) -> str:
    """A doubler whose times and factor are what a file says, so that a test decides what the second run measures."""
    return (
        f"steer = json.loads(pathlib.Path({str(directory / 'steer.json')!r}).read_text())\n"
        + DOUBLER.replace("x * 2", "x * steer['factor']").replace(
            "[seconds]", "[steer['seconds'] * (1 + arguments.seed / 1000)]"
        )
    )


@dataclass
class Forge:
    """The command line over stores in one directory."""

    directory: Path
    read: Callable[[], tuple[str, str]]

    @property
    def store(self) -> Store:
        return Store(self.directory / "results")

    def steer(self, *, seconds: float = 1e-6, factor: float = 2.0) -> None:
        (self.directory / "steer.json").write_text(json.dumps({"seconds": seconds, "factor": factor}))

    def run(self, *arguments: str, change: Callable[[dict], None] = lambda _: None, **bodies: str) -> None:
        """Make records: ``plain``, and an implementation more for each body."""
        data = small_matrix(**{name: program(body) for name, body in bodies.items()})
        change(data)
        matrix = self.directory / "matrix.yaml"
        matrix.write_text(yaml.safe_dump(data, sort_keys=False))
        main([*arguments, "--matrix", str(matrix), "--results", str(self.store.root), "--executor", "local"])
        self.read()

    def verify(self, *arguments: str, path: Path | None = None) -> tuple[int, str, str]:
        """Exit code, stdout, stderr. The matrix that is named is not there: nothing may read one."""
        gone = str(self.directory / "no-such-matrix.yaml")
        code = main(
            ["verify", str(path or self.store.root), "--executor", "local", "--matrix", gone, *arguments]
        )
        return code, *self.read()

    def figures(
        self, *arguments: str, path: Path | None = None
    ) -> tuple[int, dict[str, set[tuple[str, str]]]]:
        """Exit code, and for each figure of each implementation the verdicts with their reasons."""
        code, out, err = self.verify("--json", *arguments, path=path)
        assert out, err
        found: dict[str, set[tuple[str, str]]] = {}
        for cell in json.loads(out)["cells"]:
            for each in cell["figures"]:
                name = f"{cell['implementation']} {each['figure']}"
                found.setdefault(name, set()).add((each["verdict"], each["why"]))
        return code, found

    def rewrite(self, change: Callable[[dict[str, Any]], None], **names: object) -> None:
        """Change the records of these names, and seal them anew."""
        for path in self.store.records_directory.glob("*/*.json"):
            data = json.loads(path.read_text())
            if all(data["cell"][name] == value for name, value in names.items()):
                path.write_text(json.dumps(resealed(data, change)))


def resealed(data: dict[str, Any], change: Callable[[dict[str, Any]], None]) -> dict[str, Any]:
    """A changed copy with the right hash."""
    changed = copy.deepcopy(data)
    change(changed)
    del changed["content_sha256"]
    return seal(changed)


def varied(record: Record, change: Callable[[dict[str, Any]], None]) -> Record:
    """The same of a record."""
    return Record(data=resealed(dict(record.data), change))
