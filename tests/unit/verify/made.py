"""Records that real processes made, and the same with something changed and sealed anew, as a forger would."""

import copy
import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import conftest
import pytest
import yaml
from example_records import json_of
from refitting import refitted

from runner.cli.main import main
from runner.records.record import Record, record_of, seal
from runner.records.store import Store

# The protocol without NumPy, whose import takes ten times as long as all the rest: these tests start many processes.
COMMON = r"""
import argparse, array, json, os, pathlib, struct, time
parser = argparse.ArgumentParser()
parser.add_argument("--case", action="append")
parser.add_argument("--parameters", action="append", type=json.loads)
parser.add_argument("--seed", type=int)
parser.add_argument("--input", type=pathlib.Path)
parser.add_argument("--output", type=pathlib.Path)
arguments = parser.parse_args()
pairs = list(zip(arguments.case, arguments.parameters))

def load(path):
    raw = path.read_bytes()
    return array.array("d", raw[10 + struct.unpack("<H", raw[8:10])[0]:])

def save(path, values):
    header = "{'descr': '<f8', 'fortran_order': False, 'shape': (%d,), }" % len(values)
    header += " " * (-(len(header) + 11) % 64) + "\n"
    path.parent.mkdir(parents=True)
    path.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode()
        + array.array("d", values).tobytes())
"""
GENERATOR = """
for case, parameters in pairs:
    save(arguments.output / case / "x.npy", [float(each) for each in range(parameters["length"])])
"""
DOUBLER = """
for case, parameters in pairs:
    x = load(arguments.input / case / "x.npy")
    started = time.perf_counter()
    y = [each * 2 for each in x]
    seconds = time.perf_counter() - started
    save(arguments.output / case / "y.npy", y)
    print(json.dumps({"event": "measurement", "case": case, "metrics": {"seconds": [seconds]},
        "counts": {"elements": len(y)}, "memory": {"vmhwm_bytes": None, "cgroup_peak_bytes": None}}))
"""
# Within the gate's tolerance, and never the same bytes twice.
NOISY = DOUBLER.replace("each * 2", "each * 2 * (1 + 1e-12 * os.urandom(1)[0])")


def program(body: str) -> list[str]:
    """An implementation's command."""
    return [sys.executable, "-S", "-c", COMMON + body]


def steered(directory: Path) -> str:
    """A doubler whose times and factor are what a file says, so that a test decides what the second run measures."""
    return (
        f"steer = json.loads(pathlib.Path({str(directory / 'steer.json')!r}).read_text())\n"
        + DOUBLER.replace("each * 2", "each * steer['factor']").replace(
            "[seconds]", "[steer['seconds'] * (1 + arguments.seed / 1000)]"
        )
    )


def small_matrix(**bodies: str) -> dict:
    """The matrix of all local tests, with the programs of these."""
    data = conftest.small_matrix()
    double = data["benchmarks"]["double"]
    double["inputs"] = program(GENERATOR)
    for name, body in {"plain": DOUBLER, **bodies}.items():
        double["implementations"][name] = {
            "command": program(body),
            "reference": name == "plain",
            "determinism": "portable",
        }
    return data


@dataclass
class Forge:
    """The command line over stores in one directory."""

    directory: Path
    read: Callable[[], tuple[str, str]]

    @classmethod
    def of(cls, directory: Path, capsys: pytest.CaptureFixture[str]) -> "Forge":
        """One whose output is what a test captures."""
        return cls(directory=directory, read=lambda: tuple(capsys.readouterr()))

    @property
    def store(self) -> Store:
        return Store(self.directory / "results")

    def steer(self, *, seconds: float = 1e-6, factor: float = 2.0) -> None:
        (self.directory / "steer.json").write_text(json.dumps({"seconds": seconds, "factor": factor}))

    def run(self, *arguments: str, change: Callable[[dict], None] = lambda _: None, **bodies: str) -> None:
        """Make records: ``plain``, and an implementation more for each body."""
        data = small_matrix(**bodies)
        change(data)
        matrix = self.directory / "matrix.yaml"
        matrix.write_text(yaml.safe_dump(data, sort_keys=False))
        main([*arguments, "--matrix", str(matrix), "--results", str(self.store.root), "--executor", "local"])
        self.read()

    def verify(self, *arguments: str, path: Path | None = None) -> tuple[int, str, str]:
        """Exit code, stdout, stderr, held against the matrix that the records were made with."""
        return self.verify_by(self.directory / "matrix.yaml", *arguments, path=path)

    def verify_by(self, matrix: Path, *arguments: str, path: Path | None = None) -> tuple[int, str, str]:
        """The same, held against another matrix."""
        where = ["--matrix", str(matrix), "--executor", "local"]
        code = main(["verify", str(path or self.store.root), *where, *arguments])
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

    def rewrite(self, change: Callable[[dict[str, Any]], None], *, fit: bool = True, **names: object) -> None:
        """Change the records of these names, and seal them anew; ``fit`` makes the other fields follow."""
        for path in self.store.records_directory.glob("*/*.json"):
            data = json.loads(path.read_text())
            if all(data["cell"][name] == value for name, value in names.items()):
                changed = resealed(data, change)
                path.write_text(json.dumps(refitted(changed) if fit else changed))


def resealed(data: dict[str, Any], change: Callable[[dict[str, Any]], None]) -> dict[str, Any]:
    """A changed copy with the right hash."""
    changed = copy.deepcopy(data)
    change(changed)
    del changed["content_sha256"]
    return seal(changed)


def varied(record: Record, change: Callable[[dict[str, Any]], None]) -> Record:
    """The same of a record."""
    return record_of(resealed(json_of(record), change))
