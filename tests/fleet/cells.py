"""Cheap cells for a fleet, and the command that runs them as a user would."""

import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from runner.records.ledger.file import read_ledger
from runner.records.ledger.lines import EndLine, LaunchLine, Line, PlanLine
from runner.records.record import Record
from runner.records.store import Store
from tests.fleet.own_fleet import OwnFleet
from tests.interruption.matrix import ARCHITECTURE, small_matrix

ROOT = Path(__file__).parents[2]
SECONDS = 300
_WAIT = """
import os, pathlib, time
directory = pathlib.Path({directory!r})
(directory / f"begun-{{os.getpid()}}").touch()
while not (directory / "gate").exists():
    time.sleep(0.05)
"""


@dataclass(frozen=True, kw_only=True)
class Runs:
    """Calls of the runner on one fleet, with a matrix and results of their own."""

    fleet: OwnFleet
    directory: Path

    @property
    def store(self) -> Store:
        return Store(self.directory / "results")

    @property
    def lines(self) -> tuple[Line, ...]:
        return read_ledger(self.store.ledger_path).lines

    def write_matrix(
        self,
        *,
        seeds: int = 2,
        cases: int = 2,
        tolerance: float = 1e-9,
        deadline_seconds: int = 240,
        slurm: Mapping[str, str] | None = None,
        uneven: bool = False,
    ) -> None:
        """Two implementations. Launches of the second wait until ``open_gate``. ``uneven``: the first seed is faster."""
        data = small_matrix("local")
        where = {"partition": "bench", "constraint": "like", **(slurm or {})}
        data["platforms"] = {"fleet": {"architecture": ARCHITECTURE, "slurm": where}}
        for profile in data["profiles"].values():
            profile["seeds"] = {"native": list(range(1, seeds + 1)), "emulated": [1]}
            profile["deadline_seconds"] = {"native": deadline_seconds, "emulated": 60}
        benchmark: dict[str, Any] = data["benchmarks"]["double"]
        benchmark["cases"] = {f"n={length}": {"length": length} for length in range(1, cases + 1)}
        benchmark["gate"]["outputs"]["y.npy"]["rtol"] = tolerance
        for each in benchmark["implementations"].values() if uneven else ():
            *start, body = each["command"]
            each["command"] = [*start, body.replace("[seconds]", "[1e-6 if arguments.seed == 1 else 3e-6]")]
        *start, body = benchmark["implementations"]["other"]["command"]
        gate = _WAIT.format(directory=str(self.directory))
        benchmark["implementations"]["other"]["command"] = [*start, gate + body]
        (self.directory / "matrix.yaml").write_text(yaml.safe_dump(data, sort_keys=False), encoding="utf-8")

    def open_gate(self) -> None:
        """Let the launches of the second implementation work."""
        (self.directory / "gate").touch()

    def begin(self, *words: str) -> "subprocess.Popen[str]":
        """Start a call with these options."""
        command = [
            *(
                sys.executable,
                "-m",
                "runner",
                "--platform",
                "fleet",
                "--profile",
                "smoke",
                "--executor",
                "local",
            ),
            *("--matrix", str(self.directory / "matrix.yaml"), "--results", str(self.store.root)),
            *words,
        ]
        # An ignored signal is inherited, and a shell's background job ignores SIGINT.
        signal.signal(signal.SIGINT, signal.default_int_handler)
        return subprocess.Popen(
            command,
            cwd=ROOT,
            env=dict(self.fleet.environment),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )

    def call(self, *words: str) -> tuple[int, str]:
        """A whole call: its exit code, and what it said."""
        return end_of(self.begin(*words))

    def wait_until_blocked(self) -> None:
        """Wait until a launch of the second implementation waits for the gate."""
        self.fleet.wait_for(lambda: any(self.directory.glob("begun-*")), SECONDS)


def end_of(process: "subprocess.Popen[str]") -> tuple[int, str]:
    """The exit code of a call, and what it said."""
    try:
        _, said = process.communicate(timeout=SECONDS)
    except BaseException:
        process.kill()
        raise
    return process.returncode, said


def interrupt(process: "subprocess.Popen[str]") -> None:
    """Ctrl-C."""
    os.kill(process.pid, signal.SIGINT)


def told(lines: tuple[Line, ...]) -> tuple[list[PlanLine], list[LaunchLine], list[EndLine]]:
    """The lines of a ledger by their kinds."""
    return (
        [each for each in lines if isinstance(each, PlanLine)],
        [each for each in lines if isinstance(each, LaunchLine)],
        [each for each in lines if isinstance(each, EndLine)],
    )


def names(records: list[Record]) -> list[tuple[str, str, int]]:
    """The cells of records, sorted."""
    return sorted((each.case, each.implementation, each.seed) for each in records)
