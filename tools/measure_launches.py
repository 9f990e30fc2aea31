"""What the runner adds to a launch: the time of a run, less that of its processes and of bare containers.

python -m tools.measure_launches                     # Docker, with the images that `make images` builds
python -m tools.measure_launches --executor local    # without Docker, with the competitors of the examples

Two runs of one cell with different numbers of seeds are compared, so what a run costs once is in neither figure.
"""

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import docker
from runner.images.spec import ImageSpec
from runner.matrix import load_matrix
from runner.matrix.images import CORE
from runner.records.store import Store
from runner.system import machine
from runner.system.checkout import ROOT

_FEW = 3
_COMMANDS = {
    "docker": ["--arch", machine.architecture(), "--only", "gae/numpy/T=128"],
    "local": [
        *("--executor", "local", "--matrix", "examples/competitors/matrix.yaml"),
        *("--only", "scramble/helper/n=32"),
    ],
}


@dataclass(frozen=True, kw_only=True)
class Run:
    """One run: its seconds, and those of each of its processes."""

    seconds: float
    processes: tuple[float, ...]


def run_of(executor: str, seeds: int) -> Run:
    """A run of one cell with so many seeds, none of which is stored yet."""
    with tempfile.TemporaryDirectory() as results:
        command = [sys.executable, "-m", "runner", "--profile", "smoke", *_COMMANDS[executor]]
        command += ["--seeds", ",".join(map(str, range(1, seeds + 1))), "--results", results]
        started = time.monotonic()
        done = subprocess.run(command, cwd=ROOT, check=False, capture_output=True, text=True)
        seconds = time.monotonic() - started
        if done.returncode != 0:
            sys.exit(f"a run ended with {done.returncode}: {done.stderr.strip()}")
        launches = {each.launch.id: each.launch.wall_seconds for each in Store(Path(results)).records()}
    return Run(seconds=seconds, processes=tuple(launches.values()))


def bare_container_seconds(count: int) -> float:
    """The median time of creating and removing a container of the same image. A process's time holds its start."""
    toolchain = next(iter(load_matrix(ROOT / "matrix.yaml").toolchains.values()))
    tag = ImageSpec(target=CORE, architecture=machine.architecture(), toolchain=toolchain).tag
    client = docker.from_env()
    seconds = []
    for _ in range(count):
        started = time.monotonic()
        client.containers.create(tag, entrypoint=["true"], network_mode="none", init=True).remove(force=True)
        seconds.append(time.monotonic() - started)
    return statistics.median(seconds)


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description="What the runner adds to a launch")
    parser.add_argument("--executor", choices=sorted(_COMMANDS), default="docker")
    parser.add_argument("--launches", type=int, default=30, help="launches that are compared (30)")
    options = parser.parse_args(arguments)
    run_of(options.executor, 1)
    few, many = run_of(options.executor, _FEW), run_of(options.executor, _FEW + options.launches)
    each = (many.seconds - few.seconds) / options.launches
    process = statistics.mean(many.processes)
    bare = bare_container_seconds(options.launches) if options.executor == "docker" else 0.0
    print(
        f"a launch takes {1e3 * each:.0f} ms: its process {1e3 * process:.0f} ms, "
        f"a container's creation and removal {1e3 * bare:.0f} ms, the runner {1e3 * (each - process - bare):.0f} ms"
    )


if __name__ == "__main__":
    main()
