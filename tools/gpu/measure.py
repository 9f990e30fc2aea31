"""One launch of a row: its processes started, waited for, and read."""

import json
import os
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tools.gpu.rows import CPU, Lengths, Row, case_words

# Over which the mean return is taken: of the last episodes.
LAST_EPISODES = 20
# Why a row is not measured once the budget is spent.
NO_TIME = "no time was left"
# Variables that say how many threads each library has.
_THREADS = ("FORGE_BENCH_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


@dataclass(frozen=True, kw_only=True)
class Place:
    """What the launches of a record share."""

    root: Path
    """The repository, from which programs are started."""
    inputs: Path
    """A folder of input files for each training, which our program reads after its clock."""
    lengths: Lengths
    cores: Sequence[int]
    """The cores that programs of the CPU are held to, the first first."""
    variables: Mapping[str, str]
    """What the environment of every launch has besides."""


class LaunchError(Exception):
    """A process that failed or took too long; the message is its last line."""


def measured(row: Row, number: int, place: Place, seconds: float) -> dict[str, Any]:
    """What one launch of a row measured, or its failure.

    Args:
        row: what is launched.
        number: of the round, from which the seeds follow.
        place: where.
        seconds: after how many the launch is cut off.
    """
    told = entry(row, number)
    with TemporaryDirectory() as folder:
        try:
            return told | _launched(row, told["seed"], place, seconds, Path(folder))
        except (LaunchError, OSError, ValueError, KeyError, subprocess.TimeoutExpired) as error:
            late = isinstance(error, subprocess.TimeoutExpired)
            failure = f"cut off after {seconds:.0f} s" if late else f"{type(error).__name__}: {error}"
            return told | {"failure": failure}


def entry(row: Row, number: int, failure: str | None = None) -> dict[str, Any]:
    """A record's entry for a row in a round, without what was measured."""
    return {
        "training": row.training,
        "row": row.name,
        "device": row.device,
        "trainings": row.trainings,
        "round": number,
        "seed": 1 + (number - 1) * row.processes,
        "failure": failure,
    }


def _launched(row: Row, seed: int, place: Place, seconds: float, folder: Path) -> dict[str, Any]:
    """Start all processes, wait for them and add up what they say."""
    deadline = time.monotonic() + seconds
    started = time.perf_counter()
    processes: list[subprocess.Popen[str]] = []
    try:
        for index in range(row.processes):
            processes.append(_started(row, seed + index, place, place.cores[index], folder / str(index)))
        outputs = [each.communicate(timeout=max(0.1, deadline - time.monotonic()))[0] for each in processes]
    finally:
        for each in processes:
            if each.poll() is None:
                each.kill()
                each.wait()
    elapsed = time.perf_counter() - started
    for index, each in enumerate(processes):
        if each.returncode:
            raise LaunchError(_last_line(folder / str(index) / "stderr") or f"exit code {each.returncode}")
    found = [_measurement(each) for each in outputs]
    if any(each["counts"] != found[0]["counts"] for each in found):
        raise LaunchError("the processes of one launch did different work")
    slowest = max((each["metrics"] for each in found), key=lambda each: float(each["training_seconds"]))
    # A program that trained twice, the first time as a rehearsal, had its result after the first time.
    said = slowest["wall_seconds"] - slowest.get("repeated_seconds", 0.0)
    return {
        "loop_seconds": slowest["training_seconds"],
        # Of one process its own word. Of several, until the last of them ended.
        "start_to_result_seconds": said if row.processes == 1 else elapsed,
        "process_seconds": elapsed,
        "compile_seconds": slowest.get("compile_seconds"),
        "counts": found[0]["counts"],
        "mean_return": _mean_return(folder / "0" / row.training / "episodes.json"),
    }


def _started(row: Row, seed: int, place: Place, core: int, folder: Path) -> subprocess.Popen[str]:
    folder.mkdir()
    words = [*row.command, *case_words(place.lengths, row.training), "--seed", str(seed)]
    words += ["--output", str(folder)]
    if row.name == "ours":
        words += ["--input", str(place.inputs)]
    threads = len(place.cores)
    if row.device == CPU:
        words, threads = ["taskset", "--cpu-list", str(core), *words], 1
    variables = {**os.environ, **dict.fromkeys(_THREADS, str(threads)), **place.variables, **row.variables}
    with (folder / "stderr").open("w") as errors:
        return subprocess.Popen(
            words, cwd=place.root, env=variables, stdout=subprocess.PIPE, stderr=errors, text=True
        )


def _measurement(output: str) -> Mapping[str, Any]:
    """The event among a program's lines that has its times and counts."""
    events = [json.loads(line) for line in output.splitlines() if line.startswith("{")]
    found: list[Mapping[str, Any]] = [each for each in events if each.get("event") == "measurement"]
    if len(found) != 1:
        raise LaunchError(f"{len(found)} measurements were printed, not one")
    return found[0]


def _mean_return(path: Path) -> float | None:
    episodes = json.loads(path.read_text(encoding="utf-8"))[-LAST_EPISODES:]
    return sum(float(each["return"]) for each in episodes) / len(episodes) if episodes else None


def _last_line(path: Path) -> str:
    lines = [line.strip() for line in path.read_text(encoding="utf-8", errors="replace").splitlines()]
    return next((line for line in reversed(lines) if line), "")[:500]
