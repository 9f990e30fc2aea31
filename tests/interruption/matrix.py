"""A small matrix of fast launches, for either executor: what is computed does not matter, how often and when does."""

import sys
from pathlib import Path
from textwrap import dedent
from typing import Any

import yaml

from runner.system import machine

ROOT = Path(__file__).parents[2]
ARCHITECTURE = machine.architecture()

# Without numpy, whose import would be the longest part of a launch.
_COMMON = """
import argparse, array, json, pathlib, sys, time
parser = argparse.ArgumentParser()
parser.add_argument("--case", action="append")
parser.add_argument("--parameters", action="append", type=json.loads)
parser.add_argument("--seed", type=int)
parser.add_argument("--input", type=pathlib.Path)
parser.add_argument("--output", type=pathlib.Path)
arguments = parser.parse_args()
pairs = list(zip(arguments.case, arguments.parameters))

def save(path, values):
    header = "{'descr': '<f8', 'fortran_order': False, 'shape': (%d,), }" % len(values)
    header = header.ljust(117) + chr(10)
    path.write_bytes(b"\\x93NUMPY\\x01\\x00" + len(header).to_bytes(2, "little") + header.encode() + values.tobytes())

def load(path):
    return array.array("d", path.read_bytes()[128:])
"""

_GENERATOR = """
for case, parameters in pairs:
    (arguments.output / case).mkdir(parents=True)
    save(arguments.output / case / "x.npy", array.array("d", range(parameters["length"])))
"""

# Long enough for a fault to hit it, with something on both streams and a file worth copying.
_DOUBLER = """
for case, parameters in pairs:
    x = load(arguments.input / case / "x.npy")
    started = time.perf_counter()
    y = array.array("d", (2 * each for each in x))
    for step in range(5):
        time.sleep(0.02)
        print(json.dumps({"event": "progress", "done": step + 1, "total": 5, "unit": "steps"}), flush=True)
        print("step", step, "of", case, file=sys.stderr, flush=True)
    seconds = time.perf_counter() - started
    (arguments.output / case).mkdir(parents=True)
    save(arguments.output / case / "y.npy", y)
    print(json.dumps({"event": "measurement", "case": case, "metrics": {"seconds": [seconds]},
        "counts": {"elements": len(y)}, "memory": {"vmhwm_bytes": None, "cgroup_peak_bytes": None}}))
"""

_IMPLEMENTATIONS = ("plain", "other")
_CASES = {"n=1000": {"length": 1000}, "n=40000": {"length": 40000}}


def small_matrix(executor: str) -> dict[str, Any]:
    """Two cases, two implementations, two seeds: four launches, eight cells."""
    shipped = yaml.safe_load((ROOT / "matrix.yaml").read_text(encoding="utf-8"))
    # The others' images are built on request alone.
    toolchain = next(iter(shipped["toolchains"]))
    python = "python3" if executor == "docker" else sys.executable

    def program(body: str) -> list[str]:
        return [python, "-c", dedent(_COMMON) + dedent(body)]

    return {
        "version": 1,
        "toolchains": {toolchain: shipped["toolchains"][toolchain]},
        "platforms": {ARCHITECTURE: {"architecture": ARCHITECTURE}},
        "limits": {"default": {"cpus": 1, "memory": "512MiB", "pids": 64, "threads": 1}},
        "profiles": {
            name: {
                "minutes": 1,
                "seeds": {"native": [1, 2], "emulated": [1]},
                "deadline_seconds": {"native": 60, "emulated": 60},
            }
            for name in ("quick", "smoke")
        },
        "benchmarks": {
            "double": {
                "title": "Doubling numbers",
                "kind": "operation",
                "headline": "seconds",
                "inputs": program(_GENERATOR),
                "counts": {"elements": "length"},
                "gate": {"outputs": {"y.npy": {"rtol": 1e-9}}},
                "cases": _CASES,
                "profiles": {
                    name: {"native": {"size": 1}, "emulated": {"size": 1}} for name in ("quick", "smoke")
                },
                "implementations": {
                    name: {
                        "command": program(_DOUBLER),
                        "determinism": "portable",
                        "reference": name == "plain",
                    }
                    for name in _IMPLEMENTATIONS
                },
            }
        },
    }


def write_matrix(executor: str, directory: Path) -> Path:
    """The matrix as a file."""
    path = directory / f"matrix-{executor}.yaml"
    path.write_text(yaml.safe_dump(small_matrix(executor), sort_keys=False), encoding="utf-8")
    return path
