"""A small matrix whose implementations are real processes of this machine, for everything that needs no Docker."""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from textwrap import dedent

import grammars_on_request
import pytest
import yaml

import examples
from runner.system import cpu_locks, machine

examples.register()
grammars_on_request.register()

# Each program speaks the real protocol; the tests bend one of them and look at what becomes of it.
COMMON = """
import argparse, json, pathlib, sys, time
import numpy as np
parser = argparse.ArgumentParser()
parser.add_argument("--case", action="append")
parser.add_argument("--parameters", action="append", type=json.loads)
parser.add_argument("--seed", type=int)
parser.add_argument("--input", type=pathlib.Path)
parser.add_argument("--output", type=pathlib.Path)
arguments = parser.parse_args()
pairs = list(zip(arguments.case, arguments.parameters))
"""

GENERATOR = """
for case, parameters in pairs:
    (arguments.output / case).mkdir(parents=True)
    np.save(arguments.output / case / "x.npy", np.arange(parameters["length"], dtype=float))
"""

DOUBLER = """
for case, parameters in pairs:
    x = np.load(arguments.input / case / "x.npy")
    started = time.perf_counter()
    y = x * 2
    seconds = time.perf_counter() - started
    (arguments.output / case).mkdir(parents=True)
    np.save(arguments.output / case / "y.npy", y)
    print(json.dumps({"event": "measurement", "case": case, "metrics": {"seconds": [seconds]},
        "counts": {"elements": len(y)}, "memory": {"vmhwm_bytes": None, "cgroup_peak_bytes": None}}))
"""


def program(body: str) -> list[str]:
    """An implementation's command: Python of this virtual environment, with the protocol's arguments read."""
    return [sys.executable, "-c", dedent(COMMON) + dedent(body)]


def small_matrix(**implementations: list[str]) -> dict:
    """A benchmark that doubles numbers: ``plain`` is its reference, more implementations as given."""
    return {
        "version": 1,
        "toolchains": {"here": {"suite": "none", "rust": "1.0.0", "python": "3.0.0", "pytorch": "2.0.0"}},
        "platforms": {machine.architecture(): {"architecture": machine.architecture()}},
        "limits": {"default": {"cpus": 1, "memory": "1GiB", "pids": 64, "threads": 1}},
        "profiles": {
            name: {
                "minutes": 1,
                "seeds": {"native": seeds, "emulated": [1]},
                "deadline_seconds": {"native": 20, "emulated": 20},
            }
            for name, seeds in (("quick", [1, 2]), ("smoke", [1]))
        },
        "benchmarks": {
            "double": {
                "title": "Doubling numbers",
                "kind": "operation",
                "headline": "seconds",
                "inputs": program(GENERATOR),
                "counts": {"elements": "length"},
                "gate": {"outputs": {"y.npy": {"rtol": 1e-9}}},
                "cases": {"n=4": {"length": 4}, "n=8": {"length": 8}},
                "profiles": {
                    name: {"native": {"size": 1}, "emulated": {"size": 1}} for name in ("quick", "smoke")
                },
                "implementations": {
                    "plain": {"command": program(DOUBLER), "reference": True, "determinism": "portable"},
                    **{
                        name.replace("_", "-"): {"command": command, "determinism": "portable"}
                        for name, command in implementations.items()
                    },
                },
            }
        },
    }


@pytest.fixture(autouse=True, scope="session")
def locks_of_its_own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Workers of one call time nothing, so none waits for another's CPUs."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv(cpu_locks.DIRECTORY_VARIABLE, str(tmp_path_factory.mktemp("cpus") / "locks"))
        yield


@pytest.fixture
def write_matrix(tmp_path: Path) -> Callable[[dict], Path]:
    """Write a matrix as a file and return its path."""

    def write(data: dict) -> Path:
        path = tmp_path / "matrix.yaml"
        path.write_text(yaml.safe_dump(data, sort_keys=False), encoding="utf-8")
        return path

    return write
